import java.util.Iterator;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Meets a query that starts before its first batch is planned: a later run of one that is followed gets the limits last
 * set, one whose name is welcome a small first limit where it has none. Compiled like the probe.
 */
public class Starts {
  // A start waits so long for the thread that will limit its sources, and the engine so long for its first plan.
  private static final long HOLD_MS = 250;
  // A broker may not answer for a minute; a query that has no sources by then is left alone.
  private static final long MEET_MS = 60000;
  private final Limits limits;
  private final Lease lease;
  private final Outbox outbox;
  private final Map greeters = new WeakHashMap();
  private volatile Object sharedState = null;
  private volatile String welcome = null;
  private volatile long firstFiles = 1;
  private volatile long firstRows = 1000;

  public Starts(Limits limits, Lease lease, Outbox outbox) {
    this.limits = limits;
    this.lease = lease;
    this.outbox = outbox;
  }

  /** Meet the later runs of this query too, and give them the limits last set, before their first batch. */
  public void follow(String queryId, Object session) throws Exception {
    greet(session);
    limits.follow(queryId);
  }

  /** Meet every query whose name matches, with a small first limit where it has none (0: without); null: no longer. */
  public void welcome(String names, long files, long rows, Object session) throws Exception {
    greet(session);
    firstFiles = files;
    firstRows = rows;
    welcome = names;
  }

  /** The execution of a run that is active now, or null. */
  public Object execution(String queryId, String runId) throws Exception {
    return sharedState == null ? null : Engine.execution(sharedState, queryId, runId);
  }

  /** Meet nobody any more. */
  public synchronized void close() {
    welcome = null;
    limits.unfollowAll();
    Iterator entries = greeters.entrySet().iterator();
    while (entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      ((SparkSession) entry.getKey()).streams().removeListener((StreamingQueryListener) entry.getValue());
    }
    greeters.clear();
  }

  private synchronized void greet(Object session) throws Exception {
    sharedState = Engine.call(session, "sharedState");
    if (!greeters.containsKey(session)) {
      Greeter greeter = new Greeter();
      greeters.put(session, greeter);
      ((SparkSession) session).streams().addListener(greeter);
    }
  }

  /** Called by Spark in the query's own thread, before that makes the sources. */
  private class Greeter extends StreamingQueryListener {
    public void onQueryStarted(StreamingQueryListener.QueryStartedEvent start) {
      try {
        String queryId = start.id().toString();
        String runId = start.runId().toString();
        String name = start.name() == null ? "" : start.name();
        boolean followed = limits.last(queryId) != null;
        Object later = followed ? execution(queryId, runId) : null;
        if (later != null) {
          Plans.again(later);
        }
        if (followed || (welcome != null && name.matches(welcome))) {
          if (lease.leavesForLater(started(queryId, runId, name))) {
            return;
          }
          Meeting meeting = new Meeting(queryId, runId, name);
          Thread thread = new Thread(meeting, "penstock-meeting");
          thread.setDaemon(true);
          thread.start();
          meeting.ready.await(HOLD_MS, TimeUnit.MILLISECONDS);
        }
      } catch (Throwable fault) {
        outbox.report(fault);
      }
    }

    public void onQueryProgress(StreamingQueryListener.QueryProgressEvent progress) {
    }

    public void onQueryTerminated(StreamingQueryListener.QueryTerminatedEvent end) {
    }
  }

  private static Map started(String queryId, String runId, String name) {
    Map event = Outbox.event("started", queryId, runId);
    event.put("name", name);
    return event;
  }

  /**
   * Limits the sources of a run that begins, before the engine plans its first batch. It holds the lock under which
   * the engine plans until the sources are there, which the engine itself makes without the lock; once the engine asks
   * for the lock, it gets it within HOLD_MS.
   */
  private class Meeting implements Runnable {
    final CountDownLatch ready = new CountDownLatch(1);
    private final String queryId;
    private final String runId;
    private final String name;

    Meeting(String queryId, String runId, String name) {
      this.queryId = queryId;
      this.runId = runId;
      this.name = name;
    }

    public void run() {
      ReentrantLock planning = null;
      boolean held = false;
      try {
        Object execution = execution(queryId, runId);
        if (execution == null) {
          return;
        }
        planning = Engine.planningLock(execution);
        held = planning.tryLock(HOLD_MS, TimeUnit.MILLISECONDS);
        ready.countDown();
        awaitSources(execution, planning);
        if (Engine.sourceCount(execution) > 0 && limit(execution) && !outbox.emit(started(queryId, runId, name))) {
          limits.release(runId);
        }
      } catch (Throwable fault) {
        outbox.report(fault);
      } finally {
        ready.countDown();
        if (held) {
          planning.unlock();
        }
      }
    }

    private void awaitSources(Object execution, ReentrantLock planning) throws Exception {
      long metNs = System.nanoTime();
      long freeNs = metNs;
      while (Engine.sourceCount(execution) == 0 && Engine.active(execution)
          && System.nanoTime() - metNs < MEET_MS * 1000000) {
        if (!planning.hasQueuedThread(Engine.thread(execution))) {
          freeNs = System.nanoTime();
        } else if (System.nanoTime() - freeNs > HOLD_MS * 1000000) {
          return;
        }
        Thread.sleep(1);
      }
    }

    /** False where nobody is there any more to steer the run; the sources may have taken long to be there. */
    private boolean limit(Object execution) throws Exception {
      synchronized (lease) {
        if (lease.closed() || lease.leavesForLater(started(queryId, runId, name))) {
          return false;
        }
        boolean done = false;
        try {
          setFirst(execution);
          done = true;
        } finally {
          if (!done) {
            limits.release(runId);
          }
        }
        return true;
      }
    }

    private void setFirst(Object execution) throws Exception {
      Map last = limits.last(queryId);
      if (!Engine.gateable(execution, last != null)) {
        return;
      }
      for (int i = 0; i < Engine.sourceCount(execution); i++) {
        if (limits.owed(runId, i) == null) {
          limits.owe(runId, execution, i, Engine.limit(execution, i));
        }
      }
      for (int i = 0; i < Engine.sourceCount(execution); i++) {
        Object first = last == null ? Engine.firstLimit(execution, i, firstFiles, firstRows)
            : last.get(Integer.valueOf(i));
        if (first != null) {
          limits.set(runId, execution, i, first);
        }
      }
    }
  }
}
