import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.streaming.CompositeReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMinRows;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.streaming.SourceProgress;

/**
 * What Spark's engine does not offer in public: the sources of a running query, their read limits, and what its batch
 * took. All by reflection; compiled like the probe.
 */
public class Engine extends Reflect {
  private static final ObjectMapper JSON = new ObjectMapper();

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
    answer.put("cores", Integer.valueOf(
        ((org.apache.spark.SparkContext) call(call(execution, "sparkSession"), "sparkContext")).defaultParallelism()));
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

  /**
   * The limit that the user had, from the text that `gated` left in the reader's options: files:N, bytes:N, rows:N or
   * none. A minimum of rows that the user asked for is still in the limit in force.
   */
  public static Object parseLimit(String text, Object inForce) {
    long number = text.equals("none") ? 0 : Long.parseLong(text.substring(text.indexOf(':') + 1));
    if (text.startsWith("files:")) {
      return ReadLimit.maxFiles((int) number);
    }
    if (text.startsWith("bytes:")) {
      return ReadLimit.maxBytes(number);
    }
    ReadLimit least = least(inForce);
    if (text.startsWith("rows:")) {
      ReadLimit most = ReadLimit.maxRows(number);
      return least == null ? most : ReadLimit.compositeLimit(new ReadLimit[] {least, most});
    }
    return least == null ? ReadLimit.allAvailable() : least;
  }

  private static ReadLimit least(Object limit) {
    ReadLimit[] parts = limit instanceof CompositeReadLimit
        ? ((CompositeReadLimit) limit).getReadLimits() : new ReadLimit[] {(ReadLimit) limit};
    for (int i = 0; i < parts.length; i++) {
      if (parts[i] instanceof ReadMinRows) {
        return parts[i];
      }
    }
    return null;
  }

  public static Object maxFiles(long files) {
    return ReadLimit.maxFiles((int) Math.min(files, Integer.MAX_VALUE));
  }

  public static Object maxBytes(long bytes) {
    return ReadLimit.maxBytes(bytes);
  }

  /** At most so many rows; with a minimum, not before that many are there or the delay since the last batch is over. */
  public static Object rows(long most, long least, long delayMs) {
    ReadLimit upper = ReadLimit.maxRows(most);
    return least <= 0 ? upper : ReadLimit.compositeLimit(new ReadLimit[] {ReadLimit.minRows(least, delayMs), upper});
  }

  /** Whether batches of this query may be limited: by its trigger, and by all of its sources, where not known yet. */
  public static boolean gateable(Object execution, boolean sourcesKnown) throws Exception {
    String trigger = call(execution, "trigger").getClass().getSimpleName();
    if (!trigger.startsWith("ProcessingTimeTrigger") && !trigger.startsWith("AvailableNowTrigger")) {
      return false;
    }
    Object[] sources = sources(execution);
    for (int i = 0; i < sources.length && !sourcesKnown; i++) {
      String kind = sources[i].getClass().getSimpleName();
      if (!kind.equals("KafkaMicroBatchStream") && !kind.equals("FileStreamSource")) {
        return false;
      }
    }
    return true;
  }

  /** A small limit that this source is known to honour, to begin with; null where it has one, or none is wanted. */
  public static Object firstLimit(Object execution, int source, long files, long rows) throws Exception {
    String kind = sources(execution)[source].getClass().getSimpleName();
    Object present = limit(execution, source);
    boolean unlimited = present.equals(ReadLimit.allAvailable()) || present instanceof ReadMinRows;
    if (!unlimited || rows <= 0) {
      return null;
    }
    return kind.equals("FileStreamSource") ? maxFiles(files) : parseLimit("rows:" + rows, present);
  }

  /** The running query of an id, whatever its session; null where another run has taken its place. */
  public static Object execution(Object sharedState, String queryId, String runId) throws Exception {
    Object found = ((Map) field(sharedState, "activeStreamingQueries")).get(java.util.UUID.fromString(queryId));
    return found != null && String.valueOf(call(found, "runId")).equals(runId) ? found : null;
  }

  /** The lock under which the engine plans a batch. */
  public static java.util.concurrent.locks.ReentrantLock planningLock(Object execution) throws Exception {
    return (java.util.concurrent.locks.ReentrantLock) field(execution, "awaitProgressLock");
  }

  /** The thread in which the engine makes the sources of a query and plans its batches. */
  public static Thread thread(Object execution) throws Exception {
    return (Thread) field(execution, "queryExecutionThread");
  }

  public static boolean active(Object execution) throws Exception {
    return ((Boolean) call(execution, "isActive")).booleanValue();
  }

  public static int sourceCount(Object execution) throws Exception {
    return sources(execution).length;
  }

  public static Object source(Object execution, int source) throws Exception {
    return sources(execution)[source];
  }

  /** The end offsets of a Kafka source as it last saw them: the same object until it looks again; else null. */
  public static Object latest(Object execution, int source) throws Exception {
    Object stream = sources(execution)[source];
    return find(stream.getClass(), "latestPartitionOffsets") == null ? null : field(stream, "latestPartitionOffsets");
  }

  public static boolean hasEndOffsets(Object execution, int source) throws Exception {
    return find(sources(execution)[source].getClass(), "latestPartitionOffsets") != null;
  }

  public static String latestJson(Object execution, int source) throws Exception {
    Object offset = latest(execution, source) == null ? null : call(sources(execution)[source], "reportLatestOffset");
    return offset == null ? null : String.valueOf(call(offset, "json"));
  }

  /** What a batch took from each source, when its trigger began, and whether this run planned it. */
  public static void snapshot(Object execution, long batchId, Map into, Collection weighed) throws Exception {
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
      if (FileSource.is(sources[i])) {
        String first = json(from.get(sources[i]));
        String last = json(to.get(sources[i]));
        source.put("files", Long.valueOf(FileSource.files(sources[i], first, last)));
        if (weighed.contains(Integer.valueOf(i))) {
          source.put("bytes", Long.valueOf(FileSource.bytes(execution, sources[i], first, last)));
        }
        source.put("backlog", FileSource.backlog(sources[i], last));
      }
      source.put("latest", latestJson(execution, i));
      list.add(source);
    }
    // The stream may have moved on while this was read: then the reading is worthless.
    if (((Number) call(call(execution, "getLatestExecutionContext"), "batchId")).longValue() == batchId) {
      into.put("sources", list);
    }
  }

  /**
   * The event time in ms of the oldest row of a batch that counts, as its watermark operator has seen it; null where it
   * has none. The progress event tells the same, but only when the next batch may be planned already.
   */
  public static Long oldestEventMs(Object execution, long batchId) throws Exception {
    Object context = call(execution, "getLatestExecutionContext");
    Object plan = call(context, "executionPlan");
    if (plan == null || ((Number) call(context, "batchId")).longValue() != batchId) {
      return null;
    }
    Long oldest = oldestEventMs(call(plan, "executedPlan"));
    long watermark = ((Number) call(call(context, "offsetSeqMetadata"), "batchWatermarkMs")).longValue();
    return oldest == null ? null : Long.valueOf(Math.max(oldest.longValue(), watermark));
  }

  private static Long oldestEventMs(Object node) throws Exception {
    Long oldest = null;
    if (node.getClass().getSimpleName().equals("EventTimeWatermarkExec")) {
      Object stats = call(call(node, "eventTimeStats"), "value");
      if (((Number) call(stats, "count")).longValue() > 0) {
        oldest = Long.valueOf(((Number) call(stats, "min")).longValue());
      }
    }
    Iterator children = below(node).iterator();
    while (children.hasNext()) {
      Long below = oldestEventMs(children.next());
      oldest = oldest == null || (below != null && below.longValue() < oldest.longValue()) ? below : oldest;
    }
    return oldest;
  }

  /** The id of the batch that runs now, and the counters of rows in its plan: by id, with the index of their source. */
  public static long scanCounters(Object execution, Map into) throws Exception {
    Object context = call(execution, "getLatestExecutionContext");
    // Not before the engine has made the plan: to ask for it would make it, here and too early.
    if (((scala.collection.Map) field(context, "currentDurationsMs")).contains("queryPlanning")) {
      scanCounters(call(field(context, "executionPlan"), "executedPlan"), sources(execution), into);
    }
    return ((Number) call(context, "batchId")).longValue();
  }

  private static void scanCounters(Object node, Object[] sources, Map into) throws Exception {
    if (method(node.getClass(), "getStream") != null) {
      scala.Option stream = (scala.Option) call(node, "getStream");
      scala.Option counter = ((scala.collection.Map) call(node, "metrics")).get("numOutputRows");
      for (int i = 0; i < sources.length && stream.isDefined() && counter.isDefined(); i++) {
        if (same(sources[i], stream.get())) {
          into.put(call(counter.get(), "id"), Integer.valueOf(i));
        }
      }
    }
    Iterator children = below(node).iterator();
    while (children.hasNext()) {
      scanCounters(children.next(), sources, into);
    }
  }

  /** The parts of a plan. Adaptive execution hides the plan, and then the parts of it that run, behind leaves. */
  private static List below(Object node) throws Exception {
    String kind = node.getClass().getSimpleName();
    if (kind.equals("AdaptiveSparkPlanExec") || kind.endsWith("QueryStageExec")) {
      return Collections.singletonList(call(node, kind.endsWith("QueryStageExec") ? "plan" : "executedPlan"));
    }
    List list = new ArrayList();
    scala.collection.Iterator children = ((scala.collection.Seq) call(node, "children")).iterator();
    while (children.hasNext()) {
      list.add(children.next());
    }
    return list;
  }

  /** Files that a finished batch took from each source, null for a source that reads none: for a job seen too late. */
  public static List files(Object execution, SourceProgress[] taken) throws Exception {
    List list = new ArrayList();
    Object[] sources = execution == null ? new Object[0] : sources(execution);
    for (int i = 0; i < sources.length && sources.length == taken.length; i++) {
      boolean reads = FileSource.is(sources[i]);
      list.add(reads ? Long.valueOf(FileSource.files(sources[i], taken[i].startOffset(), taken[i].endOffset())) : null);
    }
    return list;
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
        if (same(key, source) && !list.contains(key)) {
          list.add(key);
        }
      }
    }
    return list.toArray();
  }

  /** With availableNow a source that does not support it is wrapped. */
  private static boolean same(Object limited, Object source) throws Exception {
    return limited == source
        || (find(limited.getClass(), "delegate") != null && field(limited, "delegate") == source);
  }

  private static scala.collection.immutable.Map limits(Object execution) throws Exception {
    return (scala.collection.immutable.Map) field(execution, "uniqueSources");
  }
}
