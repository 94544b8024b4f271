import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * The rows that a batch has of each source. Spark's own number is what was scanned: in foreachBatch every action runs
 * the batch's plan again and adds to the same counters, and a self-join has two scans of one source.
 *
 * The counters of the plan's scans are followed here task by task and summed for each run of a stage. The largest of
 * these sums is a scan of the whole batch; the others repeat it, or stopped early (a limit, isEmpty). A batch that is
 * cached, or a shuffle that is used again, is scanned once. For one thread, the listener's; compiled like the probe.
 */
public class Scans {
  private static final int REMEMBERED_BATCHES = 256;
  private final Map batches = new LinkedHashMap();
  private final Map counters = new HashMap();

  /** A job begins: know the counters of this query's batch, in its plan as it is by now. */
  public void look(Object execution) throws Exception {
    Map found = new HashMap();
    String key = Engine.call(execution, "runId") + " " + Engine.scanCounters(execution, found);
    if (found.isEmpty()) {
      return;
    }
    if (!batches.containsKey(key)) {
      batches.put(key, new Batch());
    }
    Iterator each = found.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry counter = (Map.Entry) each.next();
      ((Batch) batches.get(key)).sources.put(counter.getKey(), counter.getValue());
      counters.put(counter.getKey(), batches.get(key));
    }
    // A batch that failed is never asked for.
    while (batches.size() > REMEMBERED_BATCHES) {
      forget((String) batches.keySet().iterator().next());
    }
  }

  public void taskEnded(SparkListenerTaskEnd end) {
    if (counters.isEmpty() || !end.taskInfo().successful()) {
      return;
    }
    scala.collection.Iterator each = end.taskInfo().accumulables().iterator();
    while (each.hasNext()) {
      AccumulableInfo counter = (AccumulableInfo) each.next();
      Batch batch = (Batch) counters.get(Long.valueOf(counter.id()));
      if (batch != null && counter.update().isDefined()) {
        String run = counter.id() + " " + end.stageId() + " " + end.stageAttemptId();
        if (!batch.runs.containsKey(run)) {
          batch.runs.put(run, new long[] {((Integer) batch.sources.get(Long.valueOf(counter.id()))).longValue(), 0});
        }
        ((long[]) batch.runs.get(run))[1] += ((Number) counter.update().get()).longValue();
      }
    }
  }

  /** Rows of each source in a batch that is over, null where none were seen. The batch is forgotten with this. */
  public List rows(String runId, long batchId, int sources) {
    Long[] largest = new Long[sources];
    Batch batch = forget(runId + " " + batchId);
    Collection runs = batch == null ? (Collection) Collections.EMPTY_LIST : batch.runs.values();
    Iterator each = runs.iterator();
    while (each.hasNext()) {
      long[] run = (long[]) each.next();
      int source = (int) run[0];
      if (source < sources && (largest[source] == null || run[1] > largest[source].longValue())) {
        largest[source] = Long.valueOf(run[1]);
      }
    }
    return Arrays.asList(largest);
  }

  private Batch forget(String key) {
    Batch batch = (Batch) batches.remove(key);
    if (batch != null) {
      counters.keySet().removeAll(batch.sources.keySet());
    }
    return batch;
  }

  /** The source of each counter, and for each run of a stage and counter its source and its rows. */
  private static class Batch {
    final Map sources = new HashMap();
    final Map runs = new HashMap();
  }
}
