import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;

/**
 * Gives the users' own limits back where nobody in Python has polled for the time of the lease, until somebody polls
 * again. Whoever limits a run does so under this object's lock: what is limited before the lease expires is given back,
 * and after it nothing is limited. Compiled like the probe.
 */
public class Lease implements Runnable {
  private static final int MOST_UNMET = 1000;
  private final SparkContext context;
  private final Limits limits;
  private final Outbox outbox;
  private final LinkedBlockingQueue unmet = new LinkedBlockingQueue(MOST_UNMET);
  // Counted by the thread below while it runs: time in which this machine stands still does not count.
  private final AtomicLong silentMs = new AtomicLong();
  private volatile long leaseMs;
  private volatile long backMs = 0;
  private volatile boolean expired = false;
  private volatile boolean closed = false;

  public Lease(SparkContext context, Limits limits, Outbox outbox, long leaseMs) {
    this.context = context;
    this.limits = limits;
    this.outbox = outbox;
    this.leaseMs = leaseMs;
  }

  public void start() {
    Thread thread = new Thread(this, "penstock-lease");
    thread.setDaemon(true);
    thread.start();
  }

  /** Another lease, in ms. */
  public void set(long leaseMs) {
    this.leaseMs = leaseMs;
  }

  /** Give all limits back for good. */
  public void close() {
    closed = true;
    giveBackAll();
  }

  /** Somebody polls. */
  public void renew() throws Exception {
    long silent = silentMs.getAndSet(0);
    if (expired && !closed) {
      takeUpAll(silent);
    }
  }

  public boolean closed() {
    return closed;
  }

  /** Whether nobody polls: then a run that starts is not limited, and is told of once somebody does. */
  public synchronized boolean leavesForLater(Map started) {
    if (expired) {
      unmet.offer(started);
    }
    return expired;
  }

  /** Ends with its context. */
  public void run() {
    while (!closed && !context.isStopped()) {
      try {
        long pauseMs = Math.max(10, Math.min(1000, leaseMs / 4));
        Thread.sleep(pauseMs);
        if (silentMs.addAndGet(pauseMs) > leaseMs && !expired) {
          giveBackAll();
        }
      } catch (InterruptedException end) {
        return;
      } catch (Throwable fault) {
        outbox.report(fault);
      }
    }
  }

  private synchronized void giveBackAll() {
    expired = true;
    backMs = System.currentTimeMillis();
    Iterator runs = limits.runs().iterator();
    while (runs.hasNext()) {
      try {
        limits.giveBack((String) runs.next());
      } catch (Throwable fault) {
        // The others get theirs all the same.
        outbox.report(fault);
      }
    }
  }

  /** Ours are set again by whoever hears of it, and queries that started meanwhile are met. */
  private synchronized void takeUpAll(long silent) throws Exception {
    expired = false;
    Iterator runs = limits.runs().iterator();
    while (runs.hasNext()) {
      limits.takeUp((String) runs.next());
    }
    Map resumed = new LinkedHashMap();
    resumed.put("kind", "resumed");
    resumed.put("silent_ms", Long.valueOf(silent));
    resumed.put("back_ms", Long.valueOf(backMs));
    // Before the batches of that time, and however much waits: nobody else says whose limit they had.
    outbox.emitFirst(resumed);
    Object started = unmet.poll();
    while (started != null) {
      outbox.emit((Map) started);
      started = unmet.poll();
    }
  }
}
