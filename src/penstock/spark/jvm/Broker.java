import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * What is asked of a Kafka broker, by the admin client of the source itself, which is safe to use from another thread.
 * By reflection, since the client's classes belong to the connector, which need not be there; compiled like the probe.
 */
public class Broker extends Reflect {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final Object admin;
  private final Class client;
  private final long untilMs;

  private Broker(Object admin, long timeoutMs) throws Exception {
    this.admin = admin;
    this.client = kind("clients.admin.Admin");
    this.untilMs = System.currentTimeMillis() + timeoutMs;
  }

  /**
   * The broker of a source, for questions that are answered within the time; null before the source itself needed it,
   * while its client is made anew after a failure, and once the query has stopped. The source's own getter would then
   * make a client that nobody closes.
   */
  public static Broker of(Object execution, int source, long timeoutMs) throws Exception {
    Object admin = Engine.active(execution)
        ? field(field(Engine.source(execution, source), "kafkaOffsetReader"), "_admin") : null;
    return admin == null ? null : new Broker(admin, timeoutMs);
  }

  /** The same, for whoever cannot do without. */
  public static Broker needed(Object execution, int source, long timeoutMs) throws Exception {
    Broker broker = of(execution, source, timeoutMs);
    if (broker == null) {
      throw new IllegalStateException("the query has no client to ask the broker with");
    }
    return broker;
  }

  /** Where each partition of a source ended at these times, as JSON by topic. */
  public static String endsAt(Object execution, int source, List timesMs, long timeoutMs) throws Exception {
    Broker broker = needed(execution, source, timeoutMs);
    Map latest = latest(execution, source);
    List answer = new ArrayList();
    for (int t = 0; t < timesMs.size(); t++) {
      Map found = broker.offsetsAt(((Number) timesMs.get(t)).longValue(), latest.keySet());
      Iterator parts = latest.keySet().iterator();
      while (parts.hasNext()) {
        Object part = parts.next();
        // No record is that young: the partition has not grown since.
        if (((Number) found.get(part)).longValue() < 0) {
          found.put(part, latest.get(part));
        }
      }
      answer.add(byTopic(found));
    }
    return JSON.writeValueAsString(answer);
  }

  /** How long each topic of a source is kept, in ms, as JSON; -1 where for ever. */
  public static String retention(Object execution, int source, Collection topics, long timeoutMs) throws Exception {
    return JSON.writeValueAsString(needed(execution, source, timeoutMs).retentionMs(topics));
  }

  /** The end of each partition as the source itself saw it last; empty before it has looked. */
  public static Map latest(Object execution, int source) throws Exception {
    scala.collection.Map seen = (scala.collection.Map) Engine.latest(execution, source);
    Map found = new LinkedHashMap();
    scala.collection.Iterator parts = seen == null ? null : seen.keysIterator();
    while (parts != null && parts.hasNext()) {
      Object part = parts.next();
      found.put(part, seen.apply(part));
    }
    return found;
  }

  /** Values by partition as values by topic and number of the partition. */
  public static Map byTopic(Map values) throws Exception {
    Map topics = new LinkedHashMap();
    Iterator entries = values.entrySet().iterator();
    while (entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      String topic = String.valueOf(call(entry.getKey(), "topic"));
      if (!topics.containsKey(topic)) {
        topics.put(topic, new LinkedHashMap());
      }
      ((Map) topics.get(topic)).put(String.valueOf(call(entry.getKey(), "partition")), entry.getValue());
    }
    return topics;
  }

  public boolean outOfTime() {
    return System.currentTimeMillis() >= untilMs;
  }

  /** The offset of each partition at a time, by the timestamps of its records; -1 where no record is that young. */
  public Map offsetsAt(long timeMs, Collection parts) throws Exception {
    return offsets(specs().getMethod("forTimestamp", new Class[] {long.class})
        .invoke(null, new Object[] {Long.valueOf(timeMs)}), parts);
  }

  /** The first offset of each partition. */
  public Map firsts(Collection parts) throws Exception {
    return offsets(specs().getMethod("earliest", new Class[0]).invoke(null, new Object[0]), parts);
  }

  /** The offset after the last of each partition. */
  public Map ends(Collection parts) throws Exception {
    return offsets(specs().getMethod("latest", new Class[0]).invoke(null, new Object[0]), parts);
  }

  private Map offsets(Object spec, Collection parts) throws Exception {
    Map wanted = new HashMap();
    Iterator each = parts.iterator();
    while (each.hasNext()) {
      wanted.put(each.next(), spec);
    }
    Map told = (Map) answer(call(ask("listOffsets", Map.class, wanted), "all"));
    Map found = new HashMap();
    Iterator keys = wanted.keySet().iterator();
    while (keys.hasNext()) {
      Object part = keys.next();
      found.put(part, call(told.get(part), "offset"));
    }
    return found;
  }

  /** The retention of each topic in ms, -1 for one that keeps all; null where it has none. */
  public Map retentionMs(Collection topics) throws Exception {
    Class resource = kind("common.config.ConfigResource");
    Class type = kind("common.config.ConfigResource$Type");
    Object topicType = type.getField("TOPIC").get(null);
    Map found = new LinkedHashMap();
    Iterator names = topics.iterator();
    while (names.hasNext()) {
      Object name = names.next();
      Object wanted = resource.getConstructor(new Class[] {type, String.class}).newInstance(new Object[] {topicType, name});
      Object result = ask("describeConfigs", Collection.class, Collections.singleton(wanted));
      Object entry = call(((Map) answer(call(result, "all"))).get(wanted), "get", "retention.ms");
      found.put(name, entry == null ? null : Long.valueOf(String.valueOf(call(entry, "value"))));
    }
    return found;
  }

  /** The id of the broker that leads each partition; a partition without a leader is left out. */
  public Map leaders(Collection parts) throws Exception {
    Collection names = new HashSet();
    Iterator wanted = parts.iterator();
    while (wanted.hasNext()) {
      names.add(call(wanted.next(), "topic"));
    }
    Map topics = (Map) answer(call(ask("describeTopics", Collection.class, names), "allTopicNames"));
    Map found = new HashMap();
    wanted = parts.iterator();
    while (wanted.hasNext()) {
      Object part = wanted.next();
      Iterator each = ((List) call(topics.get(call(part, "topic")), "partitions")).iterator();
      while (each.hasNext()) {
        Object info = each.next();
        Object leader = call(info, "leader");
        if (call(info, "partition").equals(call(part, "partition")) && leader != null) {
          found.put(part, call(leader, "id"));
        }
      }
    }
    return found;
  }

  /** Bytes by partition, as its leader has it; a broker that does not answer is left out, unless none does. */
  public Map bytes(Collection parts, Map leaders) throws Exception {
    Collection asked = new HashSet();
    Iterator wanted = parts.iterator();
    while (wanted.hasNext()) {
      Object leader = leaders.get(wanted.next());
      if (leader != null) {
        asked.add(leader);
      }
    }
    Map found = new HashMap();
    Exception failure = null;
    Iterator each = ((Map) call(ask("describeLogDirs", Collection.class, asked), "descriptions")).entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry broker = (Map.Entry) each.next();
      try {
        Iterator folders = ((Map) answer(broker.getValue())).values().iterator();
        while (folders.hasNext()) {
          Iterator replicas = ((Map) call(folders.next(), "replicaInfos")).entrySet().iterator();
          while (replicas.hasNext()) {
            Map.Entry replica = (Map.Entry) replicas.next();
            // A future one is the copy that is made when a log moves to another disk of its broker.
            if (broker.getKey().equals(leaders.get(replica.getKey()))
                && !((Boolean) call(replica.getValue(), "isFuture")).booleanValue()) {
              found.put(replica.getKey(), call(replica.getValue(), "size"));
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

  private Class specs() throws Exception {
    return kind("clients.admin.OffsetSpec");
  }

  private Class kind(String name) throws Exception {
    return Class.forName("org.apache.kafka." + name, true, admin.getClass().getClassLoader());
  }

  private Object ask(String method, Class type, Object what) throws Exception {
    return client.getMethod(method, new Class[] {type}).invoke(admin, new Object[] {what});
  }

  private Object answer(Object future) throws Exception {
    long leftMs = Math.max(untilMs - System.currentTimeMillis(), 0);
    try {
      return future.getClass().getMethod("get", new Class[] {long.class, TimeUnit.class})
          .invoke(future, new Object[] {Long.valueOf(leftMs), TimeUnit.MILLISECONDS});
    } catch (java.lang.reflect.InvocationTargetException wrapped) {
      Throwable cause = wrapped.getCause();
      throw cause instanceof Exception ? (Exception) cause : wrapped;
    }
  }
}
