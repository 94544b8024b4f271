import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.SparkContext;

/**
 * Looks at the end offsets that the Kafka sources of the watched queries see, also between batches, and tells when they
 * change. One thread for all of them: it asks nobody. Compiled like the probe.
 */
public class OffsetWatch implements Runnable {
  private static final long LOOK_MS = 50;
  private static final long TELL_MS = 1000;
  private final Map watched;
  private final Outbox outbox;
  private final SparkContext context;
  private final HashMap seen = new HashMap();
  private String told = "";
  private boolean runs = false;

  /** `watched` has the execution of each query by its id; another thread changes it. */
  public OffsetWatch(Map watched, Outbox outbox, SparkContext context) {
    this.watched = watched;
    this.outbox = outbox;
    this.context = context;
  }

  /** Look from now on, until no query is watched any more or the context has stopped. */
  public synchronized void start() {
    if (!runs) {
      runs = true;
      Thread thread = new Thread(this, "penstock-offsets");
      thread.setDaemon(true);
      thread.start();
    }
  }

  private synchronized boolean goesOn() {
    runs = !watched.isEmpty() && !context.isStopped();
    return runs;
  }

  public void run() {
    while (goesOn()) {
      try {
        Thread.sleep(LOOK_MS);
        Iterator entries = watched.entrySet().iterator();
        while (entries.hasNext()) {
          Map.Entry entry = (Map.Entry) entries.next();
          for (int i = 0; i < Engine.sourceCount(entry.getValue()); i++) {
            look((String) entry.getKey(), entry.getValue(), i);
          }
        }
        seen.keySet().retainAll(watched.keySet());
      } catch (Throwable fault) {
        // It may stay for hours, and is looked for twenty times a second.
        if (!told.equals(String.valueOf(fault))) {
          told = String.valueOf(fault);
          outbox.report(fault);
        }
      }
    }
  }

  private void look(String queryId, Object execution, int source) throws Exception {
    Object latest = Engine.latest(execution, source);
    if (latest == null) {
      return;
    }
    if (!seen.containsKey(queryId)) {
      seen.put(queryId, new HashMap());
    }
    Map mine = (Map) seen.get(queryId);
    Object[] before = (Object[]) mine.get(Integer.valueOf(source));
    Long now = Long.valueOf(System.currentTimeMillis());
    // The same object: the source has not looked again since.
    if (before == null || before[0] != latest) {
      boolean changed = before == null || !latest.equals(before[0]);
      long toldMs = before == null ? 0 : ((Long) before[2]).longValue();
      if (changed || now.longValue() - toldMs > TELL_MS) {
        Map event = Outbox.event("offsets", queryId, String.valueOf(Engine.call(execution, "runId")));
        event.put("source", Integer.valueOf(source));
        event.put("at_ms", now);
        event.put("same_until_ms", before == null ? null : before[1]);
        event.put("latest", Engine.latestJson(execution, source));
        outbox.emit(event);
        toldMs = now.longValue();
      }
      mine.put(Integer.valueOf(source), new Object[] {latest, now, Long.valueOf(toldMs)});
    }
  }
}
