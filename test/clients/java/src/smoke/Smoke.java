package smoke;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The Java client: administration, idempotent produce with every codec, read by assignment. */
public final class Smoke {
    private static final int COUNT = 1000;
    static boolean bad;
    private final String broker;
    private final Admin admin;

    private Smoke(String broker) {
        this.broker = broker;
        this.admin = Admin.create(Map.of("bootstrap.servers", broker));
    }

    public static void main(String[] args) throws Exception {
        Smoke s = new Smoke(args[0]);
        s.administration();
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            check("produce and read, " + codec, () -> s.produceAndRead(codec));
        }
        check("five requests in flight keep the order", s::order);
        check("read by time, delete records", s::time);
        check("a long poll ends when a record comes", s::longPoll);
        check("too large a record", s::tooLarge);
        s.cluster();
        s.admin.close();
        System.exit(bad ? 1 : 0);
    }

    interface Body {
        void run() throws Exception;
    }

    static void check(String name, Body body) {
        try {
            body.run();
            System.out.println("PASS " + name);
        } catch (Exception | AssertionError e) {
            bad = true;
            e.printStackTrace();
            System.out.println("FAIL " + name + ": " + String.valueOf(e).replace('\n', ' '));
        }
    }

    static void same(Object want, Object got, String what) {
        if (!Objects.deepEquals(want, got)) {
            throw new AssertionError(what + ": want " + want + ", got " + got);
        }
    }

    /** Kafka shows some changes later than it answers them. */
    static void until(String what, Callable<Boolean> seen) throws Exception {
        long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (!seen.call()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not seen within 20 s: " + what);
            }
            Thread.sleep(20);
        }
    }

    static void fails(Class<? extends Exception> want, Future<?> future) throws Exception {
        try {
            future.get();
        } catch (ExecutionException e) {
            if (want.isInstance(e.getCause())) {
                return;
            }
            throw e;
        }
        throw new AssertionError("no " + want.getSimpleName());
    }

    private String make(String what, int partitions, Map<String, String> configs) throws Exception {
        String name = "java-" + what + "-" + System.nanoTime();
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(configs))).all().get();
        until("topic " + name, () -> {
            try {
                TopicDescription d = admin.describeTopics(List.of(name)).allTopicNames().get().get(name);
                return d.partitions().size() == partitions && d.partitions().stream().allMatch(p -> p.leader() != null);
            } catch (ExecutionException e) {
                return false;
            }
        });
        return name;
    }

    private void administration() throws Exception {
        String name = make("admin", 2, Map.of("retention.ms", "3600000"));
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, name);
        Callable<Config> config = () -> admin.describeConfigs(List.of(topic)).all().get().get(topic);
        check("describe a topic's settings", () -> {
            Config c = config.call();
            same("3600000", c.get("retention.ms").value(), "retention.ms");
            same(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, c.get("retention.ms").source(), "its source");
            same(ConfigEntry.ConfigSource.DEFAULT_CONFIG, c.get("segment.bytes").source(), "segment.bytes");
            same(ConfigEntry.ConfigType.LIST, c.get("cleanup.policy").type(), "cleanup.policy");
        });
        check("alter a setting", () -> {
            admin.incrementalAlterConfigs(Map.of(topic, List.<AlterConfigOp>of(
                new AlterConfigOp(new ConfigEntry("retention.ms", ""), AlterConfigOp.OpType.DELETE),
                new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND)))).all().get();
            until("the setting", () -> config.call().get("cleanup.policy").value().equals("delete,compact"));
            same("604800000", config.call().get("retention.ms").value(), "retention.ms");
            fails(InvalidConfigurationException.class, admin.incrementalAlterConfigs(Map.of(topic, List.<AlterConfigOp>of(
                new AlterConfigOp(new ConfigEntry("retention.ms", "x"), AlterConfigOp.OpType.SET)))).all());
        });
        check("add partitions", () -> {
            admin.createPartitions(Map.of(name, NewPartitions.increaseTo(4))).all().get();
            until("four partitions", () -> admin.describeTopics(List.of(name)).allTopicNames().get().get(name).partitions().size() == 4);
        });
        check("elect a leader", () -> {
            TopicPartition p = new TopicPartition(name, 0);
            Throwable t = admin.electLeaders(ElectionType.PREFERRED, java.util.Set.of(p)).partitions().get().get(p).orElse(null);
            if (!(t instanceof ElectionNotNeededException)) {
                throw new AssertionError("got " + t);
            }
        });
        check("mistakes", () -> {
            fails(TopicExistsException.class, admin.createTopics(List.of(new NewTopic(name, 1, (short) 1))).all());
            fails(UnknownTopicOrPartitionException.class, admin.describeTopics(List.of(name + "-none")).allTopicNames());
            fails(UnknownTopicOrPartitionException.class, admin.deleteTopics(List.of(name + "-none")).all());
        });
        check("delete a topic", () -> {
            admin.deleteTopics(List.of(name)).all().get();
            until("the topic is gone", () -> !admin.listTopics().names().get().contains(name));
        });
    }

    private KafkaProducer<byte[], byte[]> producer(Map<String, Object> more) {
        Map<String, Object> c = new java.util.HashMap<>(Map.of("bootstrap.servers", broker, "linger.ms", 20));
        c.putAll(more);
        return new KafkaProducer<>(c, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private KafkaConsumer<byte[], byte[]> consumer() {
        return new KafkaConsumer<>(Map.of("bootstrap.servers", broker, "enable.auto.commit", false, "check.crcs", true),
            new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static byte[] bytes(String s) {
        return s.getBytes(StandardCharsets.UTF_8);
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, String codec, int i) {
        byte[] key = i % 10 == 0 ? null : bytes("key-" + i);
        byte[] value = i % 11 == 0 ? null : bytes((codec + " value " + i + " ").repeat(5));
        ProducerRecord<byte[], byte[]> r = new ProducerRecord<>(topic, i % 2, 1_700_000_000_000L + i, key, value);
        r.headers().add("n", bytes("" + i));
        return r;
    }

    private static List<ConsumerRecord<byte[], byte[]>> read(KafkaConsumer<byte[], byte[]> c, Collection<TopicPartition> from, int count) {
        c.assign(from);
        c.seekToBeginning(from);
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        for (long end = System.nanoTime() + Duration.ofSeconds(30).toNanos(); got.size() < count && System.nanoTime() < end; ) {
            c.poll(Duration.ofMillis(500)).forEach(got::add);
        }
        same(count, got.size(), "records read");
        return got;
    }

    private void produceAndRead(String codec) throws Exception {
        String t = make(codec, 2, Map.of());
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> p = producer(Map.of("compression.type", codec))) {
            for (int i = 0; i < COUNT; i++) {
                sent.add(p.send(record(t, codec, i)));
            }
        }
        for (int i = 0; i < COUNT; i++) {
            same((long) i / 2, sent.get(i).get().offset(), "offset of record " + i);
        }
        try (KafkaConsumer<byte[], byte[]> c = consumer()) {
            TopicPartition zero = new TopicPartition(t, 0);
            for (ConsumerRecord<byte[], byte[]> r : read(c, List.of(zero, new TopicPartition(t, 1)), COUNT)) {
                int i = (int) r.offset() * 2 + r.partition();
                ProducerRecord<byte[], byte[]> want = record(t, codec, i);
                if (!Arrays.equals(want.key(), r.key()) || !Arrays.equals(want.value(), r.value()) || want.timestamp() != r.timestamp()
                    || !want.headers().equals(r.headers())) {
                    throw new AssertionError("record " + i + " is not what was sent: " + r);
                }
            }
            c.assign(List.of(zero));
            c.seek(zero, 123);
            same(123L, c.poll(Duration.ofSeconds(20)).iterator().next().offset(), "the first record from 123 on");
            same(Map.of(zero, 500L), c.endOffsets(List.of(zero)), "end offset");
        }
    }

    private void order() throws Exception {
        String t = make("order", 1, Map.of());
        int many = 5000;
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> p = producer(Map.of("linger.ms", 0, "max.in.flight.requests.per.connection", 5))) {
            for (int i = 0; i < many; i++) {
                sent.add(p.send(new ProducerRecord<>(t, 0, null, bytes("" + i))));
            }
        }
        for (int i = 0; i < many; i++) {
            same((long) i, sent.get(i).get().offset(), "offset of record " + i);
        }
        try (KafkaConsumer<byte[], byte[]> c = consumer()) {
            for (ConsumerRecord<byte[], byte[]> r : read(c, List.of(new TopicPartition(t, 0)), many)) {
                same("" + r.offset(), new String(r.value(), StandardCharsets.UTF_8), "record at " + r.offset());
            }
        }
    }

    private void time() throws Exception {
        String t = make("time", 1, Map.of());
        TopicPartition zero = new TopicPartition(t, 0);
        try (KafkaProducer<byte[], byte[]> p = producer(Map.of())) {
            for (int i = 0; i < 100; i++) {
                p.send(new ProducerRecord<>(t, 0, 1_700_000_000_000L + 1000 * i, null, bytes("" + i)));
            }
        }
        try (KafkaConsumer<byte[], byte[]> c = consumer()) {
            same(42L, c.offsetsForTimes(Map.of(zero, 1_700_000_041_500L)).get(zero).offset(), "offset of a time");
        }
        same(99L, admin.listOffsets(Map.of(zero, OffsetSpec.maxTimestamp())).all().get().get(zero).offset(), "offset of the largest timestamp");
        same(30L, admin.deleteRecords(Map.of(zero, RecordsToDelete.beforeOffset(30))).lowWatermarks().get(zero).get().lowWatermark(), "low watermark");
        same(30L, admin.listOffsets(Map.of(zero, OffsetSpec.earliest())).all().get().get(zero).offset(), "earliest offset");
    }

    private void longPoll() throws Exception {
        String t = make("poll", 1, Map.of());
        try (KafkaConsumer<byte[], byte[]> c = new KafkaConsumer<>(Map.of("bootstrap.servers", broker, "fetch.max.wait.ms", 20000,
                "request.timeout.ms", 40000, "enable.auto.commit", false, "auto.offset.reset", "earliest"),
                new ByteArrayDeserializer(), new ByteArrayDeserializer());
             KafkaProducer<byte[], byte[]> p = producer(Map.of("linger.ms", 0))) {
            c.assign(List.of(new TopicPartition(t, 0)));
            c.poll(Duration.ofMillis(500)); // the fetch waits at the broker
            long begun = System.nanoTime();
            p.send(new ProducerRecord<>(t, 0, null, bytes("x"))).get();
            same(1, c.poll(Duration.ofSeconds(15)).count(), "records");
            if (System.nanoTime() - begun > Duration.ofSeconds(10).toNanos()) {
                throw new AssertionError("it waited to its end");
            }
        }
    }

    private void tooLarge() throws Exception {
        String t = make("large", 1, Map.of("max.message.bytes", "2000"));
        try (KafkaProducer<byte[], byte[]> p = producer(Map.of())) {
            fails(RecordTooLargeException.class, p.send(new ProducerRecord<>(t, 0, null, new byte[5000])));
            same(0L, p.send(new ProducerRecord<>(t, 0, null, new byte[500])).get().offset(), "offset");
        }
    }

    private void cluster() throws Exception {
        check("describe the cluster", () -> {
            same(22, admin.describeCluster().clusterId().get().length(), "length of the cluster id");
            int node = admin.describeCluster().nodes().get().iterator().next().id();
            ConfigResource r = new ConfigResource(ConfigResource.Type.BROKER, "" + node);
            Config c = admin.describeConfigs(List.of(r)).all().get().get(r);
            same("1048588", c.get("message.max.bytes").value(), "message.max.bytes");
            same(true, c.get("log.dirs").isReadOnly(), "log.dirs is read only");
            same(1, admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node).size(), "log directories");
        });
        check("features and quorum", () -> {
            if (!admin.describeFeatures().featureMetadata().get().finalizedFeatures().containsKey("metadata.version")) {
                throw new AssertionError("metadata.version is not finalized");
            }
            same(1, admin.describeMetadataQuorum().quorumInfo().get().voters().size(), "voters");
        });
        check("describe producers", () -> {
            String t = make("producers", 1, Map.of());
            try (KafkaProducer<byte[], byte[]> p = producer(Map.of())) {
                p.send(new ProducerRecord<>(t, 0, null, bytes("x"))).get();
            }
            TopicPartition zero = new TopicPartition(t, 0);
            same(1, admin.describeProducers(List.of(zero)).all().get().get(zero).activeProducers().size(), "producers");
            same(0, admin.listPartitionReassignments().reassignments().get().size(), "reassignments");
        });
    }
}
