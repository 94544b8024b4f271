import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Carries a plan to the workers of a running query: a setting of the stream's own session, which Spark copies into the
 * local properties of every job. Its value has three lines: the first batch of the plan, the plan, and the plan of the
 * batches before. Each action of a foreachBatch reads the setting anew, so the batch that runs now must still find its
 * own plan there.
 */
public class Plans extends Reflect {
  private static final String SETTING = "spark.penstock.plan";
  private static final String NONE = "-1\n\n";
  private static final ConcurrentHashMap LAST = new ConcurrentHashMap();
  // A source that cannot reach its broker keeps the lock for long.
  private static final long WAIT_MS = 1000;

  /** What is carried now; null where nothing is. */
  public static String carried(Object execution) throws Exception {
    return conf(execution).getConfString(SETTING, null);
  }

  /** Put a plan in force from the next planned batch on, and tell which that is. */
  public static long carry(Object execution, String plan) throws Exception {
    SQLConf conf = conf(execution);
    LAST.put(queryId(execution), plan);
    Object batch = call(execution, "getLatestExecutionContext");
    if (planned(batch)) {
      // It runs, and must be committed before the next one is planned: there is time.
      return carry(conf, plan, id(batch) + 1);
    }
    // While this is held no batch is planned, so the next one cannot begin with the old value.
    ReentrantLock planning = Engine.planningLock(execution);
    boolean held = planning.tryLock(WAIT_MS, TimeUnit.MILLISECONDS);
    try {
      batch = call(execution, "getLatestExecutionContext");
      return carry(conf, plan, held && !planned(batch) ? id(batch) : id(batch) + 1);
    } finally {
      if (held) {
        planning.unlock();
      }
    }
  }

  /** A later run of a query begins with the plan that the run before it had last, from its first batch on. */
  public static void again(Object execution) throws Exception {
    Object plan = LAST.get(queryId(execution));
    if (plan != null && carried(execution) == null) {
      conf(execution).setConfString(SETTING, "0\n" + plan + "\n");
    }
  }

  private static String queryId(Object execution) throws Exception {
    return String.valueOf(call(execution, "id"));
  }

  private static long carry(SQLConf conf, String plan, long first) {
    String[] now = conf.getConfString(SETTING, NONE).split("\n", -1);
    // A plan that no batch has begun with gives way, and the one before it stays.
    String before = Long.parseLong(now[0]) < first ? now[1] : now[2];
    conf.setConfString(SETTING, first + "\n" + plan + "\n" + before);
    return first;
  }

  private static long id(Object batch) throws Exception {
    return ((Number) call(batch, "batchId")).longValue();
  }

  private static boolean planned(Object batch) throws Exception {
    return ((Boolean) call(batch, "isCurrentBatchConstructed")).booleanValue();
  }

  private static SQLConf conf(Object execution) throws Exception {
    return (SQLConf) call(call(call(execution, "sparkSessionForStream"), "sessionState"), "conf");
  }
}
