"""The JVM's side: the bridge, and the Java classes that it compiles at run time."""
