import java.util.Map;

/**
 * Looks at the sizes of one Kafka source's logs and tells when they change, as long as its run is watched. A thread of
 * its own: a broker that does not answer must not keep others waiting. The broker is asked for a tenth of the time at
 * most. Where it never told them, the third failure is the last and is told. Compiled like the probe.
 */
public class SizeWatch implements Runnable {
  // Before its first batch a source has no client yet.
  private static final long FIRST_MS = 50;
  private static final long LOOK_MS = 200;
  private static final long TIMEOUT_MS = 5000;
  private static final long RETRY_MS = 10000;
  private static final int TRIES = 3;
  private final Map watched;
  private final Map watches;
  private final Outbox outbox;
  private final String queryId;
  private final Object execution;
  private final int source;
  private final String key;
  private final LogSizes sizes;

  /** `watched` has the execution of each query by its id; `watches` the one watch of each source. */
  public SizeWatch(Map watched, Map watches, Outbox outbox, String queryId, Object execution, int source) {
    this.watched = watched;
    this.watches = watches;
    this.outbox = outbox;
    this.queryId = queryId;
    this.execution = execution;
    this.source = source;
    this.key = queryId + " " + source;
    this.sizes = new LogSizes(execution, source);
  }

  /** Take the place of the watch of an earlier run, and look from now on. */
  public void start() {
    watches.put(key, this);
    Thread thread = new Thread(this, "penstock-bytes");
    thread.setDaemon(true);
    thread.start();
  }

  public void run() {
    String last = null;
    int failures = 0;
    long pauseMs = FIRST_MS;
    long beforeMs = 0;
    try {
      while (watched.get(queryId) == execution && watches.get(key) == this) {
        Thread.sleep(pauseMs);
        long beganMs = System.currentTimeMillis();
        try {
          String now = sizes.look(TIMEOUT_MS);
          if (now != null) {
            failures = 0;
            if (!now.equals(last)) {
              tell("sizes", now);
            }
            last = now;
          }
          long tookMs = System.currentTimeMillis() - beganMs;
          // One slow look is a pause of this machine's, and no reason to look away.
          pauseMs = now == null ? FIRST_MS : Math.max(LOOK_MS, 10 * Math.min(tookMs, beforeMs));
          beforeMs = tookMs;
        } catch (InterruptedException end) {
          throw end;
        } catch (Throwable fault) {
          failures++;
          pauseMs = Math.min(LOOK_MS << Math.min(failures, 10), RETRY_MS);
          if (failures == TRIES) {
            tell("error", String.valueOf(fault));
            if (last == null) {
              return;
            }
          }
        }
      }
    } catch (Throwable fault) {
      outbox.report(fault);
    } finally {
      watches.remove(key, this);
    }
  }

  private void tell(String what, String text) throws Exception {
    Map event = Outbox.event("bytes", queryId, String.valueOf(Engine.call(execution, "runId")));
    event.put("source", Integer.valueOf(source));
    event.put(what, text);
    outbox.emit(event);
  }
}
