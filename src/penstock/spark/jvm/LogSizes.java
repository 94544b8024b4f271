import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The logs of one Kafka source's partitions: where they begin and end, and how many bytes they have on the disk of
 * their leader. Asked by the source's own client, which is safe to use from another thread. By reflection, since the
 * client's classes belong to the connector, which need not be there; compiled like the probe.
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
    scala.collection.Map latest = (scala.collection.Map) Engine.latest(execution, source);
    Object admin = Engine.ownAdmin(execution, source);
    if (latest == null || latest.isEmpty() || admin == null) {
      return null;
    }
    long until = System.currentTimeMillis() + timeoutMs;
    ClassLoader loader = admin.getClass().getClassLoader();
    Class client = Class.forName("org.apache.kafka.clients.admin.Admin", true, loader);
    List parts = new ArrayList();
    scala.collection.Iterator keys = latest.keysIterator();
    while (keys.hasNext()) {
      parts.add(keys.next());
    }
    if (System.currentTimeMillis() - askedMs > LEADERS_MS || !leaders.keySet().containsAll(parts)) {
      leaders = leaders(client, admin, parts, until);
      askedMs = System.currentTimeMillis();
    }
    Class specs = Class.forName("org.apache.kafka.clients.admin.OffsetSpec", true, loader);
    Map first;
    Map ends = new HashMap();
    Map sizes = new HashMap();
    try {
      Object starts = offsets(client, admin, specs, "earliest", parts);
      Map now = ends(client, admin, specs, parts, until);
      first = (Map) get(Engine.call(starts, "all"), until);
      // An end and a size should be of one moment. They are where the end is still the same after the size was told; the
      // other partitions are asked again, once, with an end that is rather too early: what a log grew by then counts for
      // the records that follow.
      List asked = parts;
      for (boolean again = false; ; again = true) {
        try {
          Map told = sizes(client, admin, asked, leaders, until);
          for (int i = 0; i < asked.size(); i++) {
            if (told.containsKey(asked.get(i))) {
              sizes.put(asked.get(i), told.get(asked.get(i)));
              ends.put(asked.get(i), now.get(asked.get(i)));
            }
          }
          // A broker that is silent has used up the time; those that have answered are heard all the same.
          if (again || System.currentTimeMillis() >= until) {
            break;
          }
          now = ends(client, admin, specs, asked, until);
        } catch (Exception fault) {
          if (sizes.isEmpty()) {
            throw fault;
          }
          break;
        }
        asked = moved(asked, ends, now);
        if (asked.isEmpty()) {
          break;
        }
      }
    } catch (Exception fault) {
      askedMs = 0;
      throw fault;
    }
    Map topics = new LinkedHashMap();
    for (int i = 0; i < parts.size(); i++) {
      Object part = parts.get(i);
      Object size = sizes.get(part);
      if (size == null) {
        // It has moved: ask anew who leads it.
        askedMs = 0;
        continue;
      }
      String topic = String.valueOf(Engine.call(part, "topic"));
      if (!topics.containsKey(topic)) {
        topics.put(topic, new LinkedHashMap());
      }
      List log = new ArrayList();
      log.add(Engine.call(first.get(part), "offset"));
      log.add(ends.get(part));
      log.add(size);
      ((Map) topics.get(topic)).put(String.valueOf(Engine.call(part, "partition")), log);
    }
    if (topics.isEmpty()) {
      throw new IllegalStateException("no leader of the topic's partitions told the size of their logs");
    }
    return JSON.writeValueAsString(topics);
  }

  /** Those of the partitions that had another end before. */
  private static List moved(List parts, Map before, Map now) {
    List found = new ArrayList();
    for (int i = 0; i < parts.size(); i++) {
      Object end = before.get(parts.get(i));
      if (end != null && !end.equals(now.get(parts.get(i)))) {
        found.add(parts.get(i));
      }
    }
    return found;
  }

  private static Map ends(Class client, Object admin, Class specs, List parts, long until) throws Exception {
    Map told = (Map) get(Engine.call(offsets(client, admin, specs, "latest", parts), "all"), until);
    Map found = new HashMap();
    for (int i = 0; i < parts.size(); i++) {
      found.put(parts.get(i), Engine.call(told.get(parts.get(i)), "offset"));
    }
    return found;
  }

  private static Object offsets(Class client, Object admin, Class specs, String which, List parts) throws Exception {
    Object spec = specs.getMethod(which, new Class[0]).invoke(null, new Object[0]);
    Map wanted = new HashMap();
    for (int i = 0; i < parts.size(); i++) {
      wanted.put(parts.get(i), spec);
    }
    return client.getMethod("listOffsets", new Class[] {Map.class}).invoke(admin, new Object[] {wanted});
  }

  private static Map leaders(Class client, Object admin, List parts, long until) throws Exception {
    Collection names = new HashSet();
    for (int i = 0; i < parts.size(); i++) {
      names.add(Engine.call(parts.get(i), "topic"));
    }
    Object result = client.getMethod("describeTopics", new Class[] {Collection.class})
        .invoke(admin, new Object[] {names});
    Map topics = (Map) get(Engine.call(result, "allTopicNames"), until);
    Map found = new HashMap();
    for (int i = 0; i < parts.size(); i++) {
      Object topic = topics.get(Engine.call(parts.get(i), "topic"));
      Iterator each = ((List) Engine.call(topic, "partitions")).iterator();
      while (each.hasNext()) {
        Object info = each.next();
        Object leader = Engine.call(info, "leader");
        if (Engine.call(info, "partition").equals(Engine.call(parts.get(i), "partition")) && leader != null) {
          found.put(parts.get(i), Engine.call(leader, "id"));
        }
      }
    }
    return found;
  }

  /** Bytes by partition, as its leader has it; a broker that does not answer is left out, unless none does. */
  private static Map sizes(Class client, Object admin, List parts, Map leaders, long until) throws Exception {
    Collection asked = new HashSet();
    for (int i = 0; i < parts.size(); i++) {
      if (leaders.get(parts.get(i)) != null) {
        asked.add(leaders.get(parts.get(i)));
      }
    }
    Object logs = client.getMethod("describeLogDirs", new Class[] {Collection.class})
        .invoke(admin, new Object[] {asked});
    Map found = new HashMap();
    Exception failure = null;
    Iterator each = ((Map) Engine.call(logs, "descriptions")).entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry broker = (Map.Entry) each.next();
      try {
        Iterator folders = ((Map) get(broker.getValue(), until)).values().iterator();
        while (folders.hasNext()) {
          Iterator replicas = ((Map) Engine.call(folders.next(), "replicaInfos")).entrySet().iterator();
          while (replicas.hasNext()) {
            Map.Entry replica = (Map.Entry) replicas.next();
            // A future one is the copy that is made when a log moves to another disk of its broker.
            if (broker.getKey().equals(leaders.get(replica.getKey()))
                && !((Boolean) Engine.call(replica.getValue(), "isFuture")).booleanValue()) {
              found.put(replica.getKey(), Engine.call(replica.getValue(), "size"));
            }
          }
        }
      } catch (Exception fault) {
        failure = fault;
      }
    }
    if (found.isEmpty() && failure != null) {
      throw failure;
    }
    return found;
  }

  private static Object get(Object future, long until) throws Exception {
    long leftMs = Math.max(until - System.currentTimeMillis(), 0);
    try {
      return future.getClass().getMethod("get", new Class[] {long.class, TimeUnit.class})
          .invoke(future, new Object[] {Long.valueOf(leftMs), TimeUnit.MILLISECONDS});
    } catch (java.lang.reflect.InvocationTargetException wrapped) {
      Throwable cause = wrapped.getCause();
      throw cause instanceof Exception ? (Exception) cause : wrapped;
    }
  }
}
