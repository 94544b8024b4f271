import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * The part of Penstock that must live in the JVM: it sees a batch's jobs begin and end without a detour through
 * Python, and reads and sets the read limits of a running query in one call. Compiled at run time by the Janino that
 * Spark ships, hence raw types and no lambdas. It sits on a listener queue of its own and throws nothing, so that it
 * can neither delay nor break another listener.
 */
public class Probe extends SparkListener {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final LinkedBlockingQueue events = new LinkedBlockingQueue(100000);
  private final ConcurrentHashMap watched = new ConcurrentHashMap();
  private final HashMap running = new HashMap();
  private long dropped = 0;

  /** Begin to report the jobs and the progress of a query; `execution` is its StreamExecution. */
  public void watch(String queryId, Object execution) {
    watched.put(queryId, execution);
  }

  /** Unless a later run of the same query is watched by now. */
  public void unwatch(String queryId, Object execution) {
    watched.remove(queryId, execution);
  }

  /** The next event as JSON, or null when none came in time. */
  public String poll(long timeoutMs) throws InterruptedException {
    return (String) events.poll(timeoutMs, TimeUnit.MILLISECONDS);
  }

  @Override
  public void onJobStart(SparkListenerJobStart start) {
    try {
      Properties properties = start.properties();
      String queryId = properties == null ? null : properties.getProperty("sql.streaming.queryId");
      String batchId = properties == null ? null : properties.getProperty("streaming.sql.batchId");
      Object execution = queryId == null ? null : watched.get(queryId);
      if (execution == null || batchId == null) {
        return;
      }
      Map job = new LinkedHashMap();
      job.put("kind", "job");
      job.put("query", queryId);
      job.put("run", String.valueOf(call(execution, "runId")));
      job.put("batch", Long.valueOf(batchId));
      job.put("start_ms", Long.valueOf(start.time()));
      running.put(Integer.valueOf(start.jobId()), job);
      snapshot(execution, Long.parseLong(batchId), job);
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
        StreamingQueryListener.QueryProgressEvent progress = (StreamingQueryListener.QueryProgressEvent) event;
        String queryId = progress.progress().id().toString();
        if (watched.containsKey(queryId)) {
          Map map = new LinkedHashMap();
          map.put("kind", "progress");
          map.put("query", queryId);
          map.put("run", progress.progress().runId().toString());
          map.put("progress", progress.progress().json());
          try {
            map.put("files", files(watched.get(queryId), progress.progress().sources()));
          } catch (Throwable fault) {
            report(fault);
          }
          emit(map);
        }
      } else if (event instanceof StreamingQueryListener.QueryTerminatedEvent) {
        StreamingQueryListener.QueryTerminatedEvent ended = (StreamingQueryListener.QueryTerminatedEvent) event;
        if (watched.containsKey(ended.id().toString())) {
          Map map = new LinkedHashMap();
          map.put("kind", "terminated");
          map.put("query", ended.id().toString());
          map.put("run", ended.runId().toString());
          map.put("error", ended.exception().isDefined() ? String.valueOf(ended.exception().get()) : null);
          emit(map);
        }
      }
    } catch (Throwable fault) {
      report(fault);
    }
  }

  /** Trigger and sources of a query, each source with its class, its read limit and its options. */
  public static String describe(Object execution) throws Exception {
    Map answer = new LinkedHashMap();
    Object trigger = call(execution, "trigger");
    answer.put("execution", execution.getClass().getSimpleName());
    answer.put("trigger", trigger.getClass().getSimpleName().replace("$", ""));
    answer.put("interval_ms", find(trigger.getClass(), "intervalMs") == null ? null : field(trigger, "intervalMs"));
    answer.put("checkpoint", String.valueOf(call(execution, "resolvedCheckpointRoot")));
    SQLConf conf = (SQLConf) call(call(call(execution, "sparkSession"), "sessionState"), "conf");
    answer.put("manager", conf.getConfString("spark.sql.streaming.checkpointFileManagerClass", ""));
    List list = new ArrayList();
    Object[] sources = sources(execution);
    for (int i = 0; i < sources.length; i++) {
      Map source = new LinkedHashMap();
      source.put("class", sources[i].getClass().getSimpleName());
      source.put("text", String.valueOf(sources[i]));
      source.put("limit", String.valueOf(limits(execution).apply(sources[i])));
      source.put("options", options(execution, sources[i]));
      list.add(source);
    }
    answer.put("sources", list);
    return JSON.writeValueAsString(answer);
  }

  /** The source's read limit as it is now, to be given back to `setLimit`. */
  public static Object limit(Object execution, int source) throws Exception {
    return limits(execution).apply(sources(execution)[source]);
  }

  public static void setLimit(Object execution, int source, Object limit) throws Exception {
    find(execution.getClass(), "uniqueSources").set(
        execution, limits(execution).updated(sources(execution)[source], limit));
  }

  /** A limit from the text that `gated` left in the reader's options: files:N, bytes:N or none. */
  public static Object parseLimit(String text) {
    if (text.startsWith("files:")) {
      return ReadLimit.maxFiles(Integer.parseInt(text.substring(6)));
    }
    if (text.startsWith("bytes:")) {
      return ReadLimit.maxBytes(Long.parseLong(text.substring(6)));
    }
    return ReadLimit.allAvailable();
  }

  public static void setMaxFiles(Object execution, int source, long files) throws Exception {
    setLimit(execution, source, ReadLimit.maxFiles((int) Math.min(files, Integer.MAX_VALUE)));
  }

  /** What a batch took from each source, when its trigger began, and whether this run planned it. */
  private static void snapshot(Object execution, long batchId, Map into) throws Exception {
    Object context = call(execution, "getLatestExecutionContext");
    if (((Number) call(context, "batchId")).longValue() != batchId) {
      return;
    }
    scala.collection.Map from = (scala.collection.Map) call(context, "startOffsets");
    scala.collection.Map to = (scala.collection.Map) call(context, "endOffsets");
    into.put("trigger_ms", field(context, "currentTriggerStartTimestamp"));
    into.put("planned", Boolean.valueOf(
        ((scala.collection.Map) field(context, "currentDurationsMs")).contains("latestOffset")));
    List list = new ArrayList();
    Object[] sources = sources(execution);
    for (int i = 0; i < sources.length; i++) {
      Map source = new LinkedHashMap();
      source.put("start", json(from.get(sources[i])));
      source.put("end", json(to.get(sources[i])));
      if (find(sources[i].getClass(), "metadataLog") != null) {
        source.put("files", Long.valueOf(files(sources[i], json(from.get(sources[i])), json(to.get(sources[i])))));
        // Null where none is left, but also where the source keeps no list: with availableNow, or when few are left.
        Object unread = field(sources[i], "unreadFiles");
        source.put("backlog", unread == null ? null : Long.valueOf(((scala.collection.Seq) unread).size()));
      }
      list.add(source);
    }
    // The stream may have moved on while this was read: then the reading is worthless.
    if (((Number) call(call(execution, "getLatestExecutionContext"), "batchId")).longValue() == batchId) {
      into.put("sources", list);
    }
  }

  /** Files that a finished batch took from each source, null for a source that reads none: for a job seen too late. */
  private static List files(Object execution, SourceProgress[] taken) throws Exception {
    List list = new ArrayList();
    Object[] sources = execution == null ? new Object[0] : sources(execution);
    for (int i = 0; i < sources.length && sources.length == taken.length; i++) {
      boolean reads = find(sources[i].getClass(), "metadataLog") != null;
      list.add(reads ? Long.valueOf(files(sources[i], taken[i].startOffset(), taken[i].endOffset())) : null);
    }
    return list;
  }

  private static long files(Object source, String start, String end) throws Exception {
    long first = start == null ? 0 : logOffset(start) + 1;
    if (end == null || logOffset(end) < first) {
      return 0;
    }
    Object log = field(source, "metadataLog");
    Method get = log.getClass().getMethod("get", new Class[] {scala.Option.class, scala.Option.class});
    Object[] batches = (Object[]) get.invoke(
        log, new Object[] {new scala.Some(Long.valueOf(first)), new scala.Some(Long.valueOf(logOffset(end)))});
    long count = 0;
    for (int i = 0; i < batches.length; i++) {
      count += ((Object[]) ((scala.Tuple2) batches[i])._2()).length;
    }
    return count;
  }

  private static long logOffset(String offset) throws Exception {
    Map offsetJson = (Map) JSON.readValue(offset, Map.class);
    return ((Number) offsetJson.get("logOffset")).longValue();
  }

  private static String json(scala.Option offset) throws Exception {
    return offset.isEmpty() ? null : String.valueOf(call(offset.get(), "json"));
  }

  private static Map options(Object execution, Object source) throws Exception {
    Map answer = new LinkedHashMap();
    if (find(source.getClass(), "options") == null) {
      return answer;
    }
    Object options = field(source, "options");
    if (options == null) {
      options = plannedOptions(execution, source);
    }
    if (options instanceof Map) {
      answer.putAll((Map) options);
    } else if (options instanceof scala.collection.Map) {
      scala.collection.Iterator entries = ((scala.collection.Map) options).iterator();
      while (entries.hasNext()) {
        scala.Tuple2 entry = (scala.Tuple2) entries.next();
        answer.put(entry._1(), entry._2());
      }
    }
    return answer;
  }

  /** Scala clears a field that only lazy values use once those are made, but the plan still has the options. */
  private static Object plannedOptions(Object execution, Object source) throws Exception {
    scala.collection.Iterator leaves =
        ((scala.collection.Seq) call(call(execution, "logicalPlan"), "collectLeaves")).iterator();
    while (leaves.hasNext()) {
      Object leaf = leaves.next();
      if (find(leaf.getClass(), "relation") != null && find(leaf.getClass(), "stream") != null
          && field(leaf, "stream") == source) {
        return field(field(leaf, "relation"), "options");
      }
    }
    return null;
  }

  /** The sources with a limit, in the order in which progress events list them. */
  private static Object[] sources(Object execution) throws Exception {
    List list = new ArrayList();
    scala.collection.Iterator ordered = ((scala.collection.Seq) call(execution, "sources")).iterator();
    while (ordered.hasNext()) {
      Object source = ordered.next();
      scala.collection.Iterator keys = limits(execution).keysIterator();
      while (keys.hasNext()) {
        Object key = keys.next();
        // With availableNow a source that does not support it is wrapped.
        boolean same = key == source || (find(key.getClass(), "delegate") != null && field(key, "delegate") == source);
        if (same && !list.contains(key)) {
          list.add(key);
        }
      }
    }
    return list.toArray();
  }

  private static scala.collection.immutable.Map limits(Object execution) throws Exception {
    return (scala.collection.immutable.Map) field(execution, "uniqueSources");
  }

  private static Object call(Object target, String name) throws Exception {
    Method method = null;
    for (Class type = target.getClass(); type != null && method == null; type = type.getSuperclass()) {
      try {
        method = type.getDeclaredMethod(name, new Class[0]);
      } catch (NoSuchMethodException absent) {
        method = null;
      }
    }
    if (method == null) {
      throw new NoSuchMethodException(target.getClass().getName() + "." + name);
    }
    method.setAccessible(true);
    return method.invoke(target, new Object[0]);
  }

  private static Object field(Object target, String name) throws Exception {
    Field field = find(target.getClass(), name);
    if (field == null) {
      throw new NoSuchFieldException(target.getClass().getName() + "." + name);
    }
    return field.get(target);
  }

  private static Field find(Class type, String name) {
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

  private void report(Throwable fault) {
    try {
      Map map = new LinkedHashMap();
      map.put("kind", "fault");
      map.put("error", String.valueOf(fault));
      emit(map);
    } catch (Throwable ignored) {
      // Nothing is worth an exception on Spark's listener thread.
    }
  }

  private void emit(Map event) throws Exception {
    if (!events.offer(JSON.writeValueAsString(event))) {
      dropped++;
    } else if (dropped > 0) {
      Map loss = new LinkedHashMap();
      loss.put("kind", "fault");
      loss.put("error", dropped + " events came faster than they were taken, and are lost");
      dropped = 0;
      events.offer(JSON.writeValueAsString(loss));
    }
  }
}
