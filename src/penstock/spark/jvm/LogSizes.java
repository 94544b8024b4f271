import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The logs of one Kafka source's partitions: where they begin and end, and how many bytes they have on the disk of
 * their leader. Compiled like the probe.
 */
public class LogSizes {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long LEADERS_MS = 10000;
  private final Object execution;
  private final int source;
  private Map leaders = new HashMap();
  private long askedMs = 0;

  public LogSizes(Object execution, int source) {
    this.execution = execution;
    this.source = source;
  }

  /** Each partition's first offset, the one after its last, and its bytes, as JSON; null before the first batch. */
  public String look(long timeoutMs) throws Exception {
    Collection parts = Broker.latest(execution, source).keySet();
    Broker broker = parts.isEmpty() ? null : Broker.of(execution, source, timeoutMs);
    if (broker == null) {
      return null;
    }
    if (System.currentTimeMillis() - askedMs > LEADERS_MS || !leaders.keySet().containsAll(parts)) {
      leaders = broker.leaders(parts);
      askedMs = System.currentTimeMillis();
    }
    try {
      Map logs = logs(broker, parts, broker.firsts(parts));
      if (logs.size() < parts.size()) {
        // One has moved: ask anew who leads it.
        askedMs = 0;
      }
      return JSON.writeValueAsString(Broker.byTopic(logs));
    } catch (Exception fault) {
      askedMs = 0;
      throw fault;
    }
  }

  /**
   * First offset, end and bytes of each log. An end and a size should be of one moment. They are where the end is still
   * the same after the size was told; the other partitions are asked again, once, with an end that is rather too early:
   * what a log grew by then counts for the records that follow.
   */
  private Map logs(Broker broker, Collection parts, Map firsts) throws Exception {
    Map logs = new LinkedHashMap();
    Map ends = broker.ends(parts);
    Collection asked = parts;
    for (boolean again = false; !asked.isEmpty(); again = true) {
      try {
        Map bytes = broker.bytes(asked, leaders);
        Iterator each = asked.iterator();
        while (each.hasNext()) {
          Object part = each.next();
          if (bytes.containsKey(part)) {
            List log = new ArrayList();
            log.add(firsts.get(part));
            log.add(ends.get(part));
            log.add(bytes.get(part));
            logs.put(part, log);
          }
        }
        // A broker that is silent has used up the time; those that have answered are heard all the same.
        if (again || broker.outOfTime()) {
          break;
        }
        Map before = ends;
        ends = broker.ends(asked);
        asked = moved(logs.keySet(), before, ends);
      } catch (Exception fault) {
        if (logs.isEmpty()) {
          throw fault;
        }
        break;
      }
    }
    if (logs.isEmpty()) {
      throw new IllegalStateException("no leader of the topic's partitions told the size of their logs");
    }
    return logs;
  }

  /** Those of the partitions that had another end before. */
  private static Collection moved(Collection parts, Map before, Map now) {
    List found = new ArrayList();
    Iterator each = parts.iterator();
    while (each.hasNext()) {
      Object part = each.next();
      if (!before.get(part).equals(now.get(part))) {
        found.add(part);
      }
    }
    return found;
  }
}
