import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * The part of Penstock that must live in the JVM: it sees a batch's jobs begin and end without a detour through
 * Python, sets read limits in one call, and meets a query that starts before its first batch is planned. Compiled at
 * run time by the Janino that Spark ships, hence raw types and no lambdas. It sits on a listener queue of its own and
 * throws nothing, so that it can neither delay nor break another listener. Where nobody has polled for the time of the
 * lease, the users' own limits come back (`Limits`), until somebody polls again.
 */
public class Probe extends SparkListener {
  private static final ObjectMapper JSON = new ObjectMapper();
  // A start waits so long for the thread that will limit its sources, and the engine so long for its first plan.
  private static final long HOLD_MS = 250;
  // A broker may not answer for a minute; a query that has no sources by then is left alone.
  private static final long MEET_MS = 60000;
  private static final long MOST_QUEUED_BYTES = 16L << 20;
  private static final int MOST_UNMET = 1000;
  private static final long LOOK_MS = 50;
  private static final long TELL_MS = 1000;
  private static final long WEIGH_MS = 200;
  private static final long WEIGH_TIMEOUT_MS = 5000;
  private static final long WEIGH_RETRY_MS = 10000;
  private static final int WEIGH_TRIES = 3;
  private final Limits limits = new Limits();
  private final LinkedBlockingDeque events = new LinkedBlockingDeque();
  private final AtomicLong queuedBytes = new AtomicLong();
  private final ConcurrentHashMap watched = new ConcurrentHashMap();
  private final ConcurrentHashMap weighed = new ConcurrentHashMap();
  private final ConcurrentHashMap weighers = new ConcurrentHashMap();
  private final ConcurrentHashMap followed = new ConcurrentHashMap();
  private final LinkedBlockingQueue unmet = new LinkedBlockingQueue(MOST_UNMET);
  private final HashMap running = new HashMap();
  private final Map greeters = new java.util.WeakHashMap();
  private final Scans scans = new Scans();
  private volatile Object sharedState = null;
  private volatile String welcome = null;
  private volatile long firstFiles = 1;
  private volatile long firstRows = 1000;
  private SparkContext context = null;
  private volatile long leaseMs = Long.MAX_VALUE;
  // Counted by the keeper while it runs: time in which this machine stands still does not count.
  private final AtomicLong silentMs = new AtomicLong();
  private volatile long backMs = 0;
  private volatile boolean expired = false;
  private volatile boolean closed = false;
  private Thread looker = null;
  private long dropped = 0;

  /** Begin to listen; the users' limits come back when nobody polls for so long. */
  public void open(SparkContext context, long leaseMs) {
    this.context = context;
    this.leaseMs = leaseMs;
    context.listenerBus().addToQueue(this, "penstock");
    Thread keeper = new Thread(new Keeper(), "penstock-lease");
    keeper.setDaemon(true);
    keeper.start();
  }

  /** Give all limits back, stop all threads, listen no more. */
  public synchronized void close() throws Exception {
    closed = true;
    welcome = null;
    followed.clear();
    watched.clear();
    giveBackAll();
    Iterator entries = greeters.entrySet().iterator();
    while (entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      ((SparkSession) entry.getKey()).streams().removeListener((StreamingQueryListener) entry.getValue());
    }
    greeters.clear();
    if (context != null) {
      context.listenerBus().removeListener(this);
    }
  }

  /** Another lease, in ms. */
  public void setLease(long leaseMs) {
    this.leaseMs = leaseMs;
  }

  /** Begin to report the jobs and the progress of a query; `execution` is its StreamExecution. */
  public synchronized void watch(String queryId, Object execution) throws Exception {
    watched.put(queryId, execution);
    boolean looks = false;
    for (int i = 0; i < Engine.sourceCount(execution); i++) {
      boolean kafka = Engine.hasEndOffsets(execution, i);
      looks |= kafka;
      if (kafka && weighedOf(queryId).contains(Integer.valueOf(i))) {
        // A thread for each: a broker that does not answer must not keep the others waiting.
        Weigher weigher = new Weigher(queryId, execution, i);
        weighers.put(weigher.key, weigher);
        Thread thread = new Thread(weigher, "penstock-bytes");
        thread.setDaemon(true);
        thread.start();
      }
    }
    if (looks && looker == null) {
      looker = new Thread(new Looker(), "penstock-offsets");
      looker.setDaemon(true);
      looker.start();
    }
  }

  /**
   * Unless a later run of the same query is watched by now. `settled`: the run has its own limits again; else they stay
   * owed, since somebody else takes over.
   */
  public void unwatch(String queryId, Object execution, boolean settled) throws Exception {
    watched.remove(queryId, execution);
    if (settled) {
      limits.settle(String.valueOf(Engine.call(execution, "runId")));
    }
  }

  /** From now on report the bytes of the files that a batch takes from this source; of Kafka's logs, once watched. */
  public void weigh(String queryId, int source) {
    weighed.putIfAbsent(queryId, Collections.synchronizedSet(new HashSet()));
    ((Collection) weighed.get(queryId)).add(Integer.valueOf(source));
  }

  /** Meet the later runs of this query too, and give them the limits last set, before their first batch. */
  public void follow(String queryId, Object session) throws Exception {
    greet(session);
    followed.putIfAbsent(queryId, new ConcurrentHashMap());
  }

  public void unfollow(String queryId) {
    followed.remove(queryId);
    weighed.remove(queryId);
  }

  /** Meet every query whose name matches, with a small first limit where it has none (0: without); null: no longer. */
  public void welcome(String names, long files, long rows, Object session) throws Exception {
    greet(session);
    firstFiles = files;
    firstRows = rows;
    welcome = names;
  }

  /**
   * Limit a source from its next planned batch on; a later run of a followed query begins with this. False where the
   * user's own limits are back for now, so that it was not set.
   */
  public boolean setLimit(String queryId, Object execution, int source, Object limit) throws Exception {
    boolean set = limits.set(String.valueOf(Engine.call(execution, "runId")), execution, source, limit);
    Map last = (Map) followed.get(queryId);
    if (last != null) {
      last.put(Integer.valueOf(source), limit);
    }
    return set;
  }

  /** What the users are owed. */
  public Limits limits() {
    return limits;
  }

  /** Give a run that was met, and that nobody steers, the limits that it had. */
  public void release(String runId) throws Exception {
    limits.giveBack(runId);
    limits.settle(runId);
  }

  /** The next event as JSON, or null when none came in time. */
  public String poll(long timeoutMs) throws Exception {
    long silent = silentMs.getAndSet(0);
    if (expired && !closed) {
      takeUpAll(silent);
    }
    String event = (String) events.poll(timeoutMs, TimeUnit.MILLISECONDS);
    if (event != null) {
      queuedBytes.addAndGet(-size(event));
    }
    return event;
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
        report(fault);
      }
    }
  }

  /** Somebody polls again: ours are set again by whoever hears of it, and queries that started meanwhile are met. */
  private synchronized void takeUpAll(long silent) throws Exception {
    expired = false;
    Iterator runs = limits.runs().iterator();
    while (runs.hasNext()) {
      limits.takeUp((String) runs.next());
    }
    Map map = new LinkedHashMap();
    map.put("kind", "resumed");
    map.put("silent_ms", Long.valueOf(silent));
    map.put("back_ms", Long.valueOf(backMs));
    // Before the batches of that time, and however much waits: nobody else says whose limit they had.
    String text = JSON.writeValueAsString(map);
    queuedBytes.addAndGet(size(text));
    events.offerFirst(text);
    Object started = unmet.poll();
    while (started != null) {
      emit((Map) started);
      started = unmet.poll();
    }
  }

  /** The execution of a run that is active now, or null. */
  public Object execution(String queryId, String runId) throws Exception {
    return sharedState == null ? null : Engine.execution(sharedState, queryId, runId);
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
      Map job = new LinkedHashMap();
      job.put("kind", "job");
      job.put("query", queryId);
      job.put("run", String.valueOf(Engine.call(execution, "runId")));
      job.put("batch", Long.valueOf(batchId));
      job.put("start_ms", Long.valueOf(start.time()));
      running.put(Integer.valueOf(start.jobId()), job);
      Engine.snapshot(execution, Long.parseLong(batchId), job, weighedOf(queryId));
      if (job.containsKey("sources") && !weighedOf(queryId).isEmpty()) {
        planned(job);
      }
    } catch (Throwable fault) {
      report(fault);
    }
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd end) {
    try {
      scans.taskEnded(end);
    } catch (Throwable fault) {
      report(fault);
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
        emit(job);
      }
    } catch (Throwable fault) {
      report(fault);
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
      report(fault, progress ? ((StreamingQueryListener.QueryProgressEvent) event).progress().runId().toString() : null);
    }
  }

  /** Where the next batch will begin is known as soon as this one runs, and what it may take is known then too. */
  private void planned(Map job) throws Exception {
    Map map = new LinkedHashMap();
    map.put("kind", "planned");
    map.put("query", job.get("query"));
    map.put("run", job.get("run"));
    map.put("sources", job.get("sources"));
    emit(map);
  }

  private void progressed(StreamingQueryListener.QueryProgressEvent event) throws Exception {
    String queryId = event.progress().id().toString();
    if (watched.containsKey(queryId)) {
      Map map = new LinkedHashMap();
      map.put("kind", "progress");
      map.put("query", queryId);
      map.put("run", event.progress().runId().toString());
      map.put("batch", Long.valueOf(event.progress().batchId()));
      map.put("progress", event.progress().json());
      try {
        map.put("rows", scans.rows(
            (String) map.get("run"), event.progress().batchId(), event.progress().sources().length));
        map.put("files", Engine.files(watched.get(queryId), event.progress().sources()));
      } catch (Throwable fault) {
        report(fault);
      }
      emit(map);
    }
  }

  private void terminated(StreamingQueryListener.QueryTerminatedEvent event) throws Exception {
    limits.settle(event.runId().toString());
    if (watched.containsKey(event.id().toString())) {
      Map map = new LinkedHashMap();
      map.put("kind", "terminated");
      map.put("query", event.id().toString());
      map.put("run", event.runId().toString());
      map.put("error", event.exception().isDefined() ? String.valueOf(event.exception().get()) : null);
      emit(map);
    }
  }

  private Collection weighedOf(String queryId) {
    Object found = weighed.get(queryId);
    return found == null ? Collections.EMPTY_SET : (Collection) found;
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
        String name = start.name() == null ? "" : start.name();
        Object later = followed.containsKey(queryId) ? execution(queryId, start.runId().toString()) : null;
        if (later != null) {
          Plans.again(later);
        }
        if (followed.containsKey(queryId) || (welcome != null && name.matches(welcome))) {
          if (leftForLater(queryId, start.runId().toString(), name)) {
            return;
          }
          Meeting meeting = new Meeting(queryId, start.runId().toString(), name);
          Thread thread = new Thread(meeting, "penstock-meeting");
          thread.setDaemon(true);
          thread.start();
          meeting.ready.await(HOLD_MS, TimeUnit.MILLISECONDS);
        }
      } catch (Throwable fault) {
        report(fault);
      }
    }

    public void onQueryProgress(StreamingQueryListener.QueryProgressEvent progress) {
    }

    public void onQueryTerminated(StreamingQueryListener.QueryTerminatedEvent end) {
    }
  }

  /** Whether nobody polls: then a run that starts is not limited, and is told of once somebody does. */
  private synchronized boolean leftForLater(String queryId, String runId, String name) {
    if (expired) {
      unmet.offer(started(queryId, runId, name));
    }
    return expired;
  }

  private static Map started(String queryId, String runId, String name) {
    Map map = new LinkedHashMap();
    map.put("kind", "started");
    map.put("query", queryId);
    map.put("run", runId);
    map.put("name", name);
    return map;
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
        long metNs = System.nanoTime();
        long freeNs = metNs;
        while (Engine.sourceCount(execution) == 0 && Engine.active(execution)
            && System.nanoTime() - metNs < MEET_MS * 1000000) {
          if (!planning.hasQueuedThread(Engine.thread(execution))) {
            freeNs = System.nanoTime();
          } else if (System.nanoTime() - freeNs > HOLD_MS * 1000000) {
            break;
          }
          Thread.sleep(1);
        }
        if (Engine.sourceCount(execution) > 0 && limit(execution) && !emit(started(queryId, runId, name))) {
          release(runId);
        }
      } catch (Throwable fault) {
        report(fault);
      } finally {
        ready.countDown();
        if (held) {
          planning.unlock();
        }
      }
    }

    /** False where nobody is there any more to steer the run; the sources may have taken long to be there. */
    private boolean limit(Object execution) throws Exception {
      // Under the lock of `giveBackAll`: what is limited before it is given back by it, and after it nothing is limited.
      synchronized (Probe.this) {
        if (closed || leftForLater(queryId, runId, name)) {
          return false;
        }
        boolean done = false;
        try {
          setFirst(execution);
          done = true;
        } finally {
          if (!done) {
            release(runId);
          }
        }
        return true;
      }
    }

    private void setFirst(Object execution) throws Exception {
      Map last = (Map) followed.get(queryId);
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

  /** Gives the users' limits back where nobody polls; ends with its context. */
  private class Keeper implements Runnable {
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
          report(fault);
        }
      }
    }
  }

  /** Looks at the end offsets that Kafka sources see, also between batches; tells when they change. */
  private class Looker implements Runnable {
    private final HashMap seen = new HashMap();
    private String told = "";

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
        } catch (InterruptedException end) {
          return;
        } catch (Throwable fault) {
          // It may stay for hours, and is looked for twenty times a second.
          if (!told.equals(String.valueOf(fault))) {
            told = String.valueOf(fault);
            report(fault);
          }
        }
      }
    }

    /** Ends with the last query and with its context; the next query that is watched starts another. */
    private boolean goesOn() {
      synchronized (Probe.this) {
        boolean on = !watched.isEmpty() && !closed && !context.isStopped();
        if (!on) {
          looker = null;
        }
        return on;
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
        long told = before == null ? 0 : ((Long) before[2]).longValue();
        if (changed || now.longValue() - told > TELL_MS) {
          Map map = new LinkedHashMap();
          map.put("kind", "offsets");
          map.put("query", queryId);
          map.put("run", String.valueOf(Engine.call(execution, "runId")));
          map.put("source", Integer.valueOf(source));
          map.put("at_ms", now);
          map.put("same_until_ms", before == null ? null : before[1]);
          map.put("latest", Engine.latestJson(execution, source));
          emit(map);
          told = now.longValue();
        }
        mine.put(Integer.valueOf(source), new Object[] {latest, now, Long.valueOf(told)});
      }
    }
  }

  /**
   * Looks at the sizes of a Kafka source's logs and tells when they change, as long as its run is watched. The broker
   * is asked for a tenth of the time at most. Where it never told them, the third failure is the last and is told.
   */
  private class Weigher implements Runnable {
    final String key;
    private final String queryId;
    private final Object execution;
    private final int source;
    private final LogSizes sizes;

    Weigher(String queryId, Object execution, int source) {
      this.queryId = queryId;
      this.execution = execution;
      this.source = source;
      this.key = queryId + " " + source;
      this.sizes = new LogSizes(execution, source);
    }

    public void run() {
      String last = null;
      int failures = 0;
      long pauseMs = LOOK_MS;
      long beforeMs = 0;
      try {
        while (watched.get(queryId) == execution && weighers.get(key) == this) {
          Thread.sleep(pauseMs);
          long beganMs = System.currentTimeMillis();
          try {
            String now = sizes.look(WEIGH_TIMEOUT_MS);
            if (now != null) {
              failures = 0;
              if (!now.equals(last)) {
                tell("sizes", now);
              }
              last = now;
            }
            long tookMs = System.currentTimeMillis() - beganMs;
            // One slow look is a pause of this machine's, and no reason to look away.
            pauseMs = now == null ? LOOK_MS : Math.max(WEIGH_MS, 10 * Math.min(tookMs, beforeMs));
            beforeMs = tookMs;
          } catch (InterruptedException end) {
            throw end;
          } catch (Throwable fault) {
            failures++;
            pauseMs = Math.min(WEIGH_MS << Math.min(failures, 10), WEIGH_RETRY_MS);
            if (failures == WEIGH_TRIES) {
              tell("error", String.valueOf(fault));
              if (last == null) {
                return;
              }
            }
          }
        }
      } catch (Throwable fault) {
        report(fault);
      } finally {
        weighers.remove(key, this);
      }
    }

    private void tell(String what, String text) throws Exception {
      Map map = new LinkedHashMap();
      map.put("kind", "bytes");
      map.put("query", queryId);
      map.put("run", String.valueOf(Engine.call(execution, "runId")));
      map.put("source", Integer.valueOf(source));
      map.put(what, text);
      emit(map);
    }
  }

  private void report(Throwable fault) {
    report(fault, null);
  }

  /** A fault of ours; with a run where it cost the progress of one of its batches. */
  private void report(Throwable fault, String runId) {
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

  /** Queue an event for Python; false where too much waits there already, which is counted and told. */
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

  private void put(String text) {
    queuedBytes.addAndGet(size(text));
    events.offer(text);
  }

  /** Bytes of a text in memory, at the most. */
  private static long size(String text) {
    return 2L * text.length() + 64;
  }
}
