import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** Methods and fields of Spark's that are not public, looked for in a class and in those that it extends. */
public class Reflect {
  public static Object call(Object target, String name) throws Exception {
    Method method = method(target.getClass(), name);
    if (method == null) {
      throw new NoSuchMethodException(target.getClass().getName() + "." + name);
    }
    return method.invoke(target, new Object[0]);
  }

  public static Object call(Object target, String name, String argument) throws Exception {
    return target.getClass().getMethod(name, new Class[] {String.class}).invoke(target, new Object[] {argument});
  }

  /** A method without arguments, or null. */
  public static Method method(Class type, String name) {
    for (Class at = type; at != null; at = at.getSuperclass()) {
      try {
        Method method = at.getDeclaredMethod(name, new Class[0]);
        method.setAccessible(true);
        return method;
      } catch (NoSuchMethodException absent) {
        // Its parent may have it.
      }
    }
    return null;
  }

  public static Object field(Object target, String name) throws Exception {
    Field field = find(target.getClass(), name);
    if (field == null) {
      throw new NoSuchFieldException(target.getClass().getName() + "." + name);
    }
    return field.get(target);
  }

  /** A field, or null. */
  public static Field find(Class type, String name) {
    for (Class at = type; at != null; at = at.getSuperclass()) {
      Field[] fields = at.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        // Scala mangles a private field that a trait or subclass shares: package$Class$$name.
        if (fields[i].getName().equals(name) || fields[i].getName().endsWith("$$" + name)) {
          fields[i].setAccessible(true);
          return fields[i];
        }
      }
    }
    return null;
  }
}
