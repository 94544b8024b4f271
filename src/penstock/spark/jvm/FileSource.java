import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/** Spark's file source: the files that a batch took, and those that wait. By reflection; compiled like the probe. */
public class FileSource extends Reflect {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long COUNT_MS = 5000;
  private static final long PAUSE_RATIO = 10;
  private static final int LOCKED_FILES = 1000;
  private static final Map counts = Collections.synchronizedMap(new WeakHashMap());

  public static boolean is(Object source) {
    return find(source.getClass(), "metadataLog") != null;
  }

  /** Files between two offsets. */
  public static long files(Object source, String start, String end) throws Exception {
    return end == null ? 0 : files(source, start == null ? 0 : logOffset(start) + 1, logOffset(end));
  }

  /** The size of the files that a batch took, asked of the file system: a call a file, so only where it is wanted. */
  public static long bytes(Object execution, Object source, String start, String end) throws Exception {
    if (end == null) {
      return 0;
    }
    Object[] batches = entries(source, start == null ? 0 : logOffset(start) + 1, logOffset(end));
    org.apache.hadoop.conf.Configuration conf = (org.apache.hadoop.conf.Configuration)
        call(call(call(execution, "sparkSession"), "sessionState"), "newHadoopConf");
    long sum = 0;
    for (int i = 0; i < batches.length; i++) {
      Object[] files = (Object[]) ((scala.Tuple2) batches[i])._2();
      for (int j = 0; j < files.length; j++) {
        org.apache.hadoop.fs.Path path =
            new org.apache.hadoop.fs.Path(new java.net.URI(String.valueOf(call(files[j], "path"))));
        sum += path.getFileSystem(conf).getFileStatus(path).getLen();
      }
    }
    return sum;
  }

  /**
   * Files that wait after the batch that ends here; null where the source keeps no list of them (availableNow, latest
   * first), or none is left, or too few for it to keep.
   *
   * The source lists its folder, and then takes batches from that list until it is used up: up to 10,000 files, which
   * may be many minutes, and what comes meanwhile is not in it. So the folder is listed here too, by the source's own
   * method, so that patterns, filters and logs of a sink count as there. That may be slow: it is done in a thread of its
   * own, not more often than every 5 s nor for more than a tenth of the time. (The source itself, with no backlog,
   * lists every 10 ms.) Both numbers are at least what was there when they were taken, less what was taken since; the
   * larger one is nearer the truth.
   */
  public static Long backlog(Object source, String end) throws Exception {
    scala.collection.Seq unread = (scala.collection.Seq) field(source, "unreadFiles");
    if (unread == null || unread.isEmpty() || end == null) {
      counts.remove(source);
      return null;
    }
    Count count = (Count) counts.get(source);
    if (count == null) {
      count = new Count();
      counts.put(source, count);
    }
    count.take(source, logOffset(end));
    if (count.due()) {
      Thread thread = new Thread(new Listing(source, count), "penstock-files");
      thread.setDaemon(true);
      thread.start();
    }
    return Long.valueOf(Math.max(unread.size(), count.left()));
  }

  private static long files(Object source, long first, long last) throws Exception {
    Object[] batches = entries(source, first, last);
    long count = 0;
    for (int i = 0; i < batches.length; i++) {
      count += ((Object[]) ((scala.Tuple2) batches[i])._2()).length;
    }
    return count;
  }

  private static Object[] entries(Object source, long first, long last) throws Exception {
    if (last < first) {
      return new Object[0];
    }
    Object log = field(source, "metadataLog");
    Method get = log.getClass().getMethod("get", new Class[] {scala.Option.class, scala.Option.class});
    return (Object[]) get.invoke(
        log, new Object[] {new scala.Some(Long.valueOf(first)), new scala.Some(Long.valueOf(last))});
  }

  private static long logOffset(String offset) throws Exception {
    Map offsetJson = (Map) JSON.readValue(offset, Map.class);
    return ((Number) offsetJson.get("logOffset")).longValue();
  }

  /** The last count of a source's folder, less what was taken since. */
  private static class Count {
    private long left = 0;
    private long offset = -1;
    private long nextMs = 0;
    private boolean busy = false;

    synchronized long left() {
      return left;
    }

    synchronized void take(Object source, long end) throws Exception {
      if (left > 0 && end > offset) {
        left = Math.max(left - files(source, offset + 1, end), 0);
        offset = end;
      }
    }

    /** Whether a listing should begin now: then whoever asked has to begin it. */
    synchronized boolean due() {
      if (busy || System.currentTimeMillis() < nextMs) {
        return false;
      }
      busy = true;
      return true;
    }

    synchronized void found(long files, long at) {
      left = files;
      offset = at;
    }

    synchronized void rest(long tookMs) {
      busy = false;
      nextMs = System.currentTimeMillis() + Math.max(COUNT_MS, PAUSE_RATIO * tookMs);
    }
  }

  /** Lists the folder once and counts the files that the source has not seen yet. */
  private static class Listing implements Runnable {
    private final Object source;
    private final Count count;

    Listing(Object source, Count count) {
      this.source = source;
      this.count = count;
    }

    public void run() {
      long beganMs = System.currentTimeMillis();
      try {
        scala.collection.Iterator files = ((scala.collection.Seq) call(source, "fetchAllFiles")).iterator();
        long at = ((Number) field(source, "metadataLogCurrentOffset")).longValue();
        Object seen = call(source, "seenFiles");
        Method isNew = null;
        Method path = null;
        Method time = null;
        long found = 0;
        while (files.hasNext()) {
          // The lock under which the source plans: held for a moment only, so that no batch waits for it.
          synchronized (source) {
            for (int i = 0; i < LOCKED_FILES && files.hasNext(); i++) {
              Object file = files.next();
              if (isNew == null) {
                path = method(file.getClass(), "path");
                time = method(file.getClass(), "timestamp");
                isNew = seen.getClass().getMethod("isNewFile", new Class[] {path.getReturnType(), long.class});
              }
              Object[] entry = {path.invoke(file, new Object[0]), time.invoke(file, new Object[0])};
              found += ((Boolean) isNew.invoke(seen, entry)).booleanValue() ? 1 : 0;
            }
          }
        }
        count.found(found, at);
      } catch (Throwable fault) {
        // A folder that cannot be listed is told by the source itself as soon as it lists it.
      } finally {
        count.rest(System.currentTimeMillis() - beganMs);
      }
    }
  }
}
