import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * The part of Penstock that must live in the JVM, as Python sees it: it sees a batch's jobs begin and end without a
 * detour through Python. Limits are set by `Limits`, queries that start are met by `Starts`, end offsets and sizes of
 * Kafka's logs are watched by `OffsetWatch` and `SizeWatch`, users' limits come back by `Lease`, and events wait in the
 * `Outbox`. Compiled at run time by the Janino that Spark ships, hence raw types and no lambdas. It sits on a
 * listener queue of its own and throws nothing, so that it can neither delay nor break another listener.
 */
public class Probe extends SparkListener {
  private final Limits limits = new Limits();
  private final Outbox outbox = new Outbox();
  private final Scans scans = new Scans();
  // The executions that are watched, by query; the sources of each whose bytes are told; the watches of Kafka's logs.
  private final ConcurrentHashMap watched = new ConcurrentHashMap();
  private final ConcurrentHashMap weighed = new ConcurrentHashMap();
  private final ConcurrentHashMap sizeWatches = new ConcurrentHashMap();
  // Used by the listener's own thread alone.
  private final HashMap running = new HashMap();
  private SparkContext context = null;
  private Lease lease = null;
  private Starts starts = null;
  private OffsetWatch offsetWatch = null;

  /** Begin to listen; the users' limits come back when nobody polls for so long. */
  public void open(SparkContext context, long leaseMs) {
    this.context = context;
    lease = new Lease(context, limits, outbox, leaseMs);
    starts = new Starts(limits, lease, outbox);
    offsetWatch = new OffsetWatch(watched, outbox, context);
    context.listenerBus().addToQueue(this, "penstock");
    lease.start();
  }

  /** Give all limits back, stop all threads, listen no more. */
  public void close() throws Exception {
    watched.clear();
    lease.close();
    starts.close();
    context.listenerBus().removeListener(this);
  }

  /** Another lease, in ms. */
  public void setLease(long leaseMs) {
    lease.set(leaseMs);
  }

  /** The next event as JSON, or null when none came in time. */
  public String poll(long timeoutMs) throws Exception {
    lease.renew();
    return outbox.take(timeoutMs);
  }

  /** Begin to report the jobs and the progress of a query; `execution` is its StreamExecution. */
  public void watch(String queryId, Object execution) throws Exception {
    watched.put(queryId, execution);
    for (int i = 0; i < Engine.sourceCount(execution); i++) {
      if (Engine.hasEndOffsets(execution, i)) {
        offsetWatch.start();
        if (weighedOf(queryId).contains(Integer.valueOf(i))) {
          new SizeWatch(watched, sizeWatches, outbox, queryId, execution, i).start();
        }
      }
    }
  }

  /**
   * Unless a later run of the same query is watched by now. `settled`: the run has its own limits again; else they stay
   * owed, since somebody else takes over.
   */
  public void unwatch(String queryId, Object execution, boolean settled) throws Exception {
    watched.remove(queryId, execution);
    if (settled) {
      limits.settle(runId(execution));
    }
  }

  /** From now on report the bytes of the files that a batch takes from this source; of Kafka's logs, once watched. */
  public void weigh(String queryId, int source) {
    weighed.putIfAbsent(queryId, Collections.synchronizedSet(new HashSet()));
    ((Collection) weighed.get(queryId)).add(Integer.valueOf(source));
  }

  /** Meet the later runs of this query too, and give them the limits last set, before their first batch. */
  public void follow(String queryId, Object session) throws Exception {
    starts.follow(queryId, session);
  }

  public void unfollow(String queryId) {
    limits.unfollow(queryId);
    weighed.remove(queryId);
  }

  /** Those who meet queries that start. */
  public Starts starts() {
    return starts;
  }

  /** Ours, and what the users are owed. */
  public Limits limits() {
    return limits;
  }

  public String endsAt(Object execution, int source, List timesMs, long timeoutMs) throws Exception {
    return Broker.endsAt(execution, source, timesMs, timeoutMs);
  }

  public String retention(Object execution, int source, Collection topics, long timeoutMs) throws Exception {
    return Broker.retention(execution, source, topics, timeoutMs);
  }

  @Override
  public void onJobStart(SparkListenerJobStart start) {
    try {
      Properties properties = start.properties();
      String queryId = properties == null ? null : properties.getProperty("sql.streaming.queryId");
      String batchId = properties == null ? null : properties.getProperty("streaming.sql.batchId");
      Object execution = queryId == null ? null : watched.get(queryId);
      // A job from a thread that foreachBatch has started does not say whose it is.
      Iterator mine = (queryId == null ? watched.values() : Collections.singleton(execution)).iterator();
      while (mine.hasNext()) {
        Object each = mine.next();
        if (each != null) {
          scans.look(each);
        }
      }
      if (execution == null || batchId == null) {
        return;
      }
      Map job = Outbox.event("job", queryId, runId(execution));
      job.put("batch", Long.valueOf(batchId));
      job.put("start_ms", Long.valueOf(start.time()));
      running.put(Integer.valueOf(start.jobId()), job);
      Engine.snapshot(execution, Long.parseLong(batchId), job, weighedOf(queryId));
      if (job.containsKey("sources") && !weighedOf(queryId).isEmpty()) {
        planned(job);
      }
    } catch (Throwable fault) {
      outbox.report(fault);
    }
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd end) {
    try {
      scans.taskEnded(end);
    } catch (Throwable fault) {
      outbox.report(fault);
    }
  }

  @Override
  public void onJobEnd(SparkListenerJobEnd end) {
    try {
      Map job = (Map) running.remove(Integer.valueOf(end.jobId()));
      if (job != null) {
        job.put("end_ms", Long.valueOf(end.time()));
        job.put("ok", Boolean.valueOf(end.jobResult() == JobSucceeded$.MODULE$));
        Object execution = watched.get(job.get("query"));
        if (execution != null) {
          job.put("oldest_ms", Engine.oldestEventMs(execution, ((Long) job.get("batch")).longValue()));
        }
        outbox.emit(job);
      }
    } catch (Throwable fault) {
      outbox.report(fault);
    }
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    try {
      if (event instanceof StreamingQueryListener.QueryProgressEvent) {
        progressed((StreamingQueryListener.QueryProgressEvent) event);
      } else if (event instanceof StreamingQueryListener.QueryTerminatedEvent) {
        terminated((StreamingQueryListener.QueryTerminatedEvent) event);
      }
    } catch (Throwable fault) {
      boolean progress = event instanceof StreamingQueryListener.QueryProgressEvent;
      outbox.report(fault, progress ? ((StreamingQueryListener.QueryProgressEvent) event).progress().runId().toString() : null);
    }
  }

  /** Where the next batch will begin is known as soon as this one runs, and what it may take is known then too. */
  private void planned(Map job) throws Exception {
    Map planned = Outbox.event("planned", job.get("query"), job.get("run"));
    planned.put("sources", job.get("sources"));
    outbox.emit(planned);
  }

  private void progressed(StreamingQueryListener.QueryProgressEvent event) throws Exception {
    String queryId = event.progress().id().toString();
    if (watched.containsKey(queryId)) {
      Map map = Outbox.event("progress", queryId, event.progress().runId().toString());
      map.put("batch", Long.valueOf(event.progress().batchId()));
      map.put("progress", event.progress().json());
      try {
        map.put("rows", scans.rows(
            (String) map.get("run"), event.progress().batchId(), event.progress().sources().length));
        map.put("files", Engine.files(watched.get(queryId), event.progress().sources()));
      } catch (Throwable fault) {
        outbox.report(fault);
      }
      outbox.emit(map);
    }
  }

  private void terminated(StreamingQueryListener.QueryTerminatedEvent event) throws Exception {
    limits.settle(event.runId().toString());
    if (watched.containsKey(event.id().toString())) {
      Map map = Outbox.event("terminated", event.id().toString(), event.runId().toString());
      map.put("error", event.exception().isDefined() ? String.valueOf(event.exception().get()) : null);
      outbox.emit(map);
    }
  }

  private Collection weighedOf(String queryId) {
    Object found = weighed.get(queryId);
    return found == null ? Collections.EMPTY_SET : (Collection) found;
  }

  private static String runId(Object execution) throws Exception {
    return String.valueOf(Engine.call(execution, "runId"));
  }
}
