import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The events that wait for Python, as JSON, within a bound of memory. Compiled like the probe. */
public class Outbox {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long MOST_QUEUED_BYTES = 16L << 20;
  private final LinkedBlockingDeque events = new LinkedBlockingDeque();
  private final AtomicLong queuedBytes = new AtomicLong();
  private long dropped = 0;

  /** An event of a run, to be completed. */
  public static Map event(String kind, Object queryId, Object runId) {
    Map map = new LinkedHashMap();
    map.put("kind", kind);
    map.put("query", queryId);
    map.put("run", runId);
    return map;
  }

  /** Queue an event; false where too much waits already, which is counted and told. */
  public synchronized boolean emit(Map event) throws Exception {
    String text = JSON.writeValueAsString(event);
    if (queuedBytes.get() + size(text) > MOST_QUEUED_BYTES) {
      dropped++;
      return false;
    }
    put(text);
    if (dropped > 0) {
      Map loss = new LinkedHashMap();
      loss.put("kind", "fault");
      loss.put("error", dropped + " events came faster than they were taken, and are lost");
      dropped = 0;
      put(JSON.writeValueAsString(loss));
    }
    return true;
  }

  /** Queue an event before all others, however much waits. */
  public void emitFirst(Map event) throws Exception {
    String text = JSON.writeValueAsString(event);
    queuedBytes.addAndGet(size(text));
    events.offerFirst(text);
  }

  public void report(Throwable fault) {
    report(fault, null);
  }

  /** A fault of ours; with a run where it cost the progress of one of its batches. */
  public void report(Throwable fault, String runId) {
    try {
      Map map = new LinkedHashMap();
      map.put("kind", "fault");
      if (runId != null) {
        map.put("run", runId);
      }
      map.put("error", String.valueOf(fault));
      emit(map);
    } catch (Throwable ignored) {
      // Nothing is worth an exception on Spark's listener thread.
    }
  }

  /** The next event as JSON, or null when none came in time. */
  public String take(long timeoutMs) throws Exception {
    String event = (String) events.poll(timeoutMs, TimeUnit.MILLISECONDS);
    if (event != null) {
      queuedBytes.addAndGet(-size(event));
    }
    return event;
  }

  private void put(String text) {
    queuedBytes.addAndGet(size(text));
    events.offer(text);
  }

  /** Bytes of a text in memory, at the most. */
  private static long size(String text) {
    return 2L * text.length() + 64;
  }
}
