import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Whose limits are in force: for every run that we limit it keeps the user's own, which are owed back. They go back when
 * the run is released, and also when nobody in Python looks after it any more; until somebody does again, no limit of
 * ours reaches the engine. Of queries that are followed it keeps the limits last set, with which a later run begins.
 * Compiled like the probe.
 */
public class Limits {
  private final HashMap debts = new HashMap();
  // By query and source; not under this object's lock, since a query that starts looks here.
  private final ConcurrentHashMap followed = new ConcurrentHashMap();

  /** One run: what it is owed, and whether it has got that back for now. */
  private static class Debt {
    final Object execution;
    final Map limits = new HashMap();
    final Map files = new HashMap();
    boolean back = false;

    Debt(Object execution) {
      this.execution = execution;
    }
  }

  private Debt debt(String runId, Object execution) {
    if (!debts.containsKey(runId)) {
      debts.put(runId, new Debt(execution));
    }
    return (Debt) debts.get(runId);
  }

  /** This limit of a source is the user's own. */
  public synchronized void owe(String runId, Object execution, int source, Object limit) {
    debt(runId, execution).limits.put(Integer.valueOf(source), limit);
  }

  /** A source that reads its limit from a file, and the content that is the user's own limit. */
  public synchronized void oweFile(String runId, Object execution, String path, String text) {
    debt(runId, execution).files.put(path, text);
  }

  /**
   * The user's own limit of a source: the one that `gated` remembered, or that of before we met the run, or the present.
   * It is owed from now on.
   */
  public synchronized Object own(String runId, Object execution, int source, String remembered) throws Exception {
    Object known = owed(runId, source);
    Object before = known == null ? Engine.limit(execution, source) : known;
    Object own = remembered == null ? before : Engine.parseLimit(remembered, before);
    owe(runId, execution, source, own);
    return own;
  }

  /** The user's own limit of a source; null where none is known. */
  public synchronized Object owed(String runId, int source) {
    Debt debt = (Debt) debts.get(runId);
    return debt == null ? null : debt.limits.get(Integer.valueOf(source));
  }

  /** Keep the limits of this query that are set from now on. */
  public void follow(String queryId) {
    followed.putIfAbsent(queryId, new ConcurrentHashMap());
  }

  public void unfollow(String queryId) {
    followed.remove(queryId);
  }

  public void unfollowAll() {
    followed.clear();
  }

  /** The limits last set, by source; null for a query that is not followed. */
  public Map last(String queryId) {
    return (Map) followed.get(queryId);
  }

  /**
   * Limit a source to so many rows; with `least`, wait for those, but at most so long after a batch. From the next
   * planned batch on; false where the run has the user's own limits back for now, so that it was not set.
   */
  public boolean setRows(String queryId, Object execution, int source, long most, long least, long delayMs)
      throws Exception {
    return setAndKeep(queryId, execution, source, Engine.rows(most, least, delayMs));
  }

  /** The same in files. */
  public boolean setFiles(String queryId, Object execution, int source, long files) throws Exception {
    return setAndKeep(queryId, execution, source, Engine.maxFiles(files));
  }

  /** The same in bytes of files. */
  public boolean setBytes(String queryId, Object execution, int source, long bytes) throws Exception {
    return setAndKeep(queryId, execution, source, Engine.maxBytes(bytes));
  }

  private boolean setAndKeep(String queryId, Object execution, int source, Object limit) throws Exception {
    boolean set = set(String.valueOf(Engine.call(execution, "runId")), execution, source, limit);
    Map last = last(queryId);
    if (last != null) {
      last.put(Integer.valueOf(source), limit);
    }
    return set;
  }

  /** Limit a source from its next planned batch on; false where its run has the user's limits back: nothing is set. */
  public synchronized boolean set(String runId, Object execution, int source, Object limit) throws Exception {
    Debt debt = (Debt) debts.get(runId);
    if (debt != null && debt.back) {
      return false;
    }
    Engine.setLimit(execution, source, limit);
    return true;
  }

  /** The same for a source that reads its limit from a file. */
  public synchronized boolean setFile(String runId, String path, String text) throws Exception {
    Debt debt = (Debt) debts.get(runId);
    if (debt != null && debt.back) {
      return false;
    }
    write(path, text);
    return true;
  }

  /** Give a run the user's own limits back, until `takeUp`; a source that fails keeps no other from its own. */
  public synchronized void giveBack(String runId) throws Exception {
    Debt debt = (Debt) debts.get(runId);
    if (debt == null) {
      return;
    }
    debt.back = true;
    Exception failed = null;
    Iterator limits = debt.limits.entrySet().iterator();
    while (limits.hasNext()) {
      Map.Entry entry = (Map.Entry) limits.next();
      try {
        Engine.setLimit(debt.execution, ((Integer) entry.getKey()).intValue(), entry.getValue());
      } catch (Exception fault) {
        failed = fault;
      }
    }
    Iterator files = debt.files.entrySet().iterator();
    while (files.hasNext()) {
      Map.Entry entry = (Map.Entry) files.next();
      try {
        write((String) entry.getKey(), (String) entry.getValue());
      } catch (Exception fault) {
        failed = fault;
      }
    }
    if (failed != null) {
      throw failed;
    }
  }

  /** Give a run that was met, and that nobody steers, the limits that it had; nothing is owed to it any more. */
  public void release(String runId) throws Exception {
    giveBack(runId);
    settle(runId);
  }

  /** From now on limits of ours are set again. */
  public synchronized void takeUp(String runId) {
    Debt debt = (Debt) debts.get(runId);
    if (debt != null) {
      debt.back = false;
    }
  }

  /** Nothing is owed to this run any more: it has ended, or has its own limits. */
  public synchronized void settle(String runId) {
    debts.remove(runId);
  }

  public synchronized List runs() {
    return new ArrayList(debts.keySet());
  }

  private static void write(String path, String text) throws Exception {
    Path fresh = Paths.get(path + ".lease.tmp", new String[0]);
    Files.write(fresh, text.getBytes(StandardCharsets.UTF_8), new java.nio.file.OpenOption[0]);
    Files.move(fresh, Paths.get(path, new String[0]), new java.nio.file.CopyOption[] {StandardCopyOption.REPLACE_EXISTING});
  }
}
