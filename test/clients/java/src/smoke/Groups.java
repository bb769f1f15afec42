package smoke;

import static smoke.Smoke.bytes;
import static smoke.Smoke.check;
import static smoke.Smoke.fails;
import static smoke.Smoke.same;
import static smoke.Smoke.until;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.GroupSubscribedToTopicException;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;
import org.apache.kafka.common.errors.UnsupportedAssignorException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The Java client's consumer groups: both protocols with each assignor, static members, patterns, administration. */
public final class Groups {
    private static final int PARTITIONS = 6;
    private static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";
    private final String broker;
    private final Admin admin;
    private final KafkaProducer<byte[], byte[]> producer;
    private int names;

    private Groups(String broker) {
        this.broker = broker;
        this.admin = Admin.create(Map.of("bootstrap.servers", broker));
        this.producer = new KafkaProducer<>(Map.of("bootstrap.servers", broker), new ByteArraySerializer(), new ByteArraySerializer());
    }

    public static void main(String[] args) {
        Groups g = new Groups(args[0]);
        for (String a : List.of("RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor")) {
            check("classic, " + a, () -> g.course(Map.of("partition.assignment.strategy", ASSIGNORS + a)));
        }
        for (String a : List.of("uniform", "range")) {
            check("consumer, " + a, () -> g.course(Map.of("group.protocol", "consumer", "group.remote.assignor", a)));
        }
        check("a pattern that the broker matches", g::pattern);
        check("static members, classic", () -> g.staticMember("classic"));
        check("static members, consumer", () -> g.staticMember("consumer"));
        check("an assignor that is not there", g::unknownAssignor);
        check("from the classic protocol to the new one", g::migrate);
        check("auto commit", () -> g.autoCommit("classic"));
        check("auto commit, consumer", () -> g.autoCommit("consumer"));
        check("offsets by Admin", g::offsets);
        check("describe and list by Admin", g::describe);
        check("remove members by Admin", g::remove);
        check("settings of a group", g::settings);
        check("transactions begin or are refused", g::transactions);
        check("a share consumer polls or is refused", g::share);
        g.producer.close();
        g.admin.close();
        System.exit(Smoke.bad ? 1 : 0);
    }

    private String name(String what) {
        return "java-" + what + "-" + System.nanoTime() + "-" + names++;
    }

    private String topic(String what, int partitions) throws Exception {
        String name = name(what);
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        until("topic " + name, () -> {
            try {
                return admin.describeTopics(List.of(name)).allTopicNames().get().get(name).partitions().size() == partitions;
            } catch (ExecutionException e) {
                return false;
            }
        });
        return name;
    }

    private void produce(String topic, int count) throws Exception {
        int partitions = producer.partitionsFor(topic).size();
        List<Future<?>> sent = new ArrayList<>();
        for (int i = 0; i < count * partitions; i++) {
            sent.add(producer.send(new ProducerRecord<>(topic, i % partitions, null, bytes("" + i))));
        }
        for (Future<?> f : sent) {
            f.get();
        }
    }

    private KafkaConsumer<byte[], byte[]> consumer(String group, Map<String, Object> how) {
        Map<String, Object> c = new HashMap<>(Map.of("bootstrap.servers", broker, "group.id", group, "enable.auto.commit", false,
            "auto.offset.reset", "earliest", "fetch.max.wait.ms", 100, "max.poll.records", 25, "metadata.max.age.ms", 1000));
        if (!"consumer".equals(how.get("group.protocol"))) {
            c.putAll(Map.of("session.timeout.ms", 6000, "heartbeat.interval.ms", 200));
        }
        c.putAll(how);
        return new KafkaConsumer<>(c, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** One member, in a thread of its own. It commits what it has read before it polls again. */
    private final class Member implements ConsumerRebalanceListener {
        final Set<TopicPartition> has = ConcurrentHashMap.newKeySet();
        final List<String> read = new ArrayList<>();
        final KafkaConsumer<byte[], byte[]> consumer;
        final Thread thread;
        volatile boolean left;
        volatile Exception failed;

        Member(String group, String topic, Map<String, Object> how) {
            consumer = consumer(group, how);
            thread = new Thread(() -> run(topic));
            thread.start();
        }

        private void run(String topic) {
            try (consumer) {
                consumer.subscribe(List.of(topic), this);
                while (!left) {
                    Map<TopicPartition, OffsetAndMetadata> kept = new HashMap<>();
                    for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(50))) {
                        synchronized (read) {
                            read.add(r.topic() + "-" + r.partition() + "@" + r.offset());
                        }
                        kept.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1, r.leaderEpoch(), "note"));
                    }
                    if (!kept.isEmpty()) {
                        consumer.commitSync(kept);
                    }
                }
            } catch (WakeupException e) {
                // told to end
            } catch (Exception e) {
                failed = e;
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> p) {
            has.addAll(p);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> p) {
            has.removeAll(p);
        }

        List<String> read() {
            synchronized (read) {
                return new ArrayList<>(read);
            }
        }

        void leave() throws Exception {
            left = true;
            thread.join(30_000);
            if (thread.isAlive()) {
                throw new AssertionError("a member does not end within 30 s");
            }
            if (failed != null) {
                throw failed;
            }
        }
    }

    /** A group that grows, shrinks and is left; every record is read once. */
    private final class Course {
        final String topic = topic("course", PARTITIONS);
        final String group = name("members");
        final List<Member> members = new ArrayList<>();
        int written;

        Course() throws Exception { }

        Member join(Map<String, Object> how) {
            Member m = new Member(group, topic, how);
            members.add(m);
            return m;
        }

        void more(int count) throws Exception {
            written += count;
            produce(topic, count);
        }

        List<String> read() {
            return members.stream().flatMap(m -> m.read().stream()).collect(Collectors.toList());
        }

        void settled(String what, Integer... shares) throws Exception {
            try {
                until(what, () -> {
                    List<Member> living = members.stream().filter(m -> !m.left).collect(Collectors.toList());
                    for (Member m : living) {
                        if (m.failed != null) {
                            throw m.failed;
                        }
                    }
                    List<Integer> have = living.stream().map(m -> m.has.size()).sorted().collect(Collectors.toList());
                    Set<TopicPartition> all = living.stream().flatMap(m -> m.has.stream()).collect(Collectors.toSet());
                    return have.equals(List.of(shares)) && all.size() == PARTITIONS && new HashSet<>(read()).size() == written * PARTITIONS;
                });
            } catch (AssertionError e) {
                throw new AssertionError(e.getMessage() + ": shares " + members.stream().map(m -> m.has.size()).collect(Collectors.toList())
                    + ", read " + new HashSet<>(read()).size() + " of " + written * PARTITIONS);
            }
        }

        void once() {
            List<String> all = read();
            same(new HashSet<>(all).size(), all.size(), "records read, again ones included");
            same(written * PARTITIONS, all.size(), "records read");
        }

        void end() throws Exception {
            for (Member m : members) {
                if (!m.left) {
                    m.leave();
                }
            }
        }
    }

    private void course(Map<String, Object> how) throws Exception {
        Course c = new Course();
        try {
            c.more(50);
            Member one = c.join(how);
            c.settled("one member reads all", 6);
            Member two = c.join(how);
            c.settled("two have half each", 3, 3);
            c.more(50);
            c.settled("two read", 3, 3);
            Member three = c.join(how);
            c.settled("three have a third each", 2, 2, 2);
            c.more(50);
            c.settled("three read", 2, 2, 2);
            one.leave();
            c.settled("two are left", 3, 3);
            two.leave();
            c.settled("one is left", 6);
            c.more(50);
            c.settled("the last reads on", 6);
            three.leave();
            c.more(20);
            Member later = c.join(how);
            c.settled("a later one goes on", 6);
            later.leave();
            same(20 * PARTITIONS, later.read().size(), "records that the later one read");
            c.once();
        } finally {
            c.end();
        }
        Map<TopicPartition, OffsetAndMetadata> kept = admin.listConsumerGroupOffsets(c.group).partitionsToOffsetAndMetadata().get();
        for (int p = 0; p < PARTITIONS; p++) {
            same(new OffsetAndMetadata(220, Optional.of(0), "note"), kept.get(new TopicPartition(c.topic, p)), "offset of partition " + p);
        }
        same(GroupState.EMPTY, described(c.group).groupState(), "state");
    }

    private ConsumerGroupDescription described(String group) throws Exception {
        return admin.describeConsumerGroups(List.of(group)).all().get().get(group);
    }

    private void pattern() throws Exception {
        String base = name("pattern");
        admin.createTopics(List.of(new NewTopic(base + "-a", 1, (short) 1), new NewTopic(base + "-b", 2, (short) 1), new NewTopic(base + "-x", 1, (short) 1))).all().get();
        // The client of Kafka 4.4.0 throws where its metadata no longer has a topic that it
        // asked for by id ("Use errorsByTopicId()"), and loses the answers that it read with
        // that one, Kafka's as well as ours. It recovers when their requests time out.
        Map<String, Object> how = Map.of("group.protocol", "consumer", "request.timeout.ms", 4000);
        try (KafkaConsumer<byte[], byte[]> c = consumer(name("members"), how)) {
            c.subscribe(new SubscriptionPattern(base + "-[a-c]"));
            until("two topics match", () -> {
                c.poll(Duration.ofMillis(50));
                return c.assignment().size() == 3;
            });
            admin.createTopics(List.of(new NewTopic(base + "-c", 3, (short) 1))).all().get();
            until("a new topic matches", () -> {
                c.poll(Duration.ofMillis(50));
                return c.assignment().size() == 6;
            });
            admin.createPartitions(Map.of(base + "-a", NewPartitions.increaseTo(2))).all().get();
            until("a topic has grown", () -> {
                c.poll(Duration.ofMillis(50));
                return c.assignment().size() == 7;
            });
            admin.deleteTopics(List.of(base + "-c")).all().get();
            until("a topic is gone", () -> {
                c.poll(Duration.ofMillis(50));
                return c.assignment().size() == 4;
            });
        }
        try (KafkaConsumer<byte[], byte[]> c = consumer(name("members"), how)) {
            c.subscribe(new SubscriptionPattern("(unclosed"));
            try {
                until("the pattern is refused", () -> {
                    c.poll(Duration.ofMillis(50));
                    return false;
                });
            } catch (org.apache.kafka.common.errors.InvalidRegularExpression e) {
                return;
            }
        }
    }

    private void staticMember(String protocol) throws Exception {
        Map<String, Object> how = new HashMap<>(Map.of("group.protocol", protocol));
        String topic = topic("static", 2);
        String group = name("members");
        Set<TopicPartition> first;
        String id;
        how.put("group.instance.id", "one");
        try (KafkaConsumer<byte[], byte[]> c = consumer(group, how)) {
            c.subscribe(List.of(topic));
            until("the first is assigned", () -> {
                c.poll(Duration.ofMillis(50));
                return c.assignment().size() == 2;
            });
            first = c.assignment();
            id = described(group).members().iterator().next().consumerId();
            try (KafkaConsumer<byte[], byte[]> twin = consumer(group, how)) {
                twin.subscribe(List.of(topic));
                // In the classic protocol the new one takes the place, in the other the one that is there keeps it.
                if (protocol.equals("classic")) {
                    until("the twin has the partitions", () -> {
                        twin.poll(Duration.ofMillis(50));
                        return twin.assignment().size() == 2;
                    });
                    thrown(FencedInstanceIdException.class, () -> c.poll(Duration.ofMillis(50)));
                } else {
                    thrown(UnreleasedInstanceIdException.class, () -> twin.poll(Duration.ofMillis(50)));
                }
            }
        }
        // A static member that goes in good order is still there.
        same(1, described(group).members().size(), "members after the close");
        try (KafkaConsumer<byte[], byte[]> c = consumer(group, how)) {
            c.subscribe(List.of(topic));
            until("it is assigned again", () -> {
                c.poll(Duration.ofMillis(50));
                return c.assignment().equals(first);
            });
            MemberDescription m = described(group).members().iterator().next();
            same(Optional.of("one"), m.groupInstanceId(), "instance");
            if (m.consumerId().equals(id)) {
                throw new AssertionError("the member id is the one of before");
            }
        }
        admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("one")))).all().get();
        same(0, described(group).members().size(), "members after the removal");
    }

    private static void thrown(Class<? extends Exception> want, Smoke.Body body) throws Exception {
        try {
            until(want.getSimpleName(), () -> {
                try {
                    body.run();
                } catch (RuntimeException e) {
                    throw e;
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                return false;
            });
        } catch (RuntimeException e) {
            if (!want.isInstance(e)) {
                throw e;
            }
        }
    }

    private void unknownAssignor() throws Exception {
        String topic = topic("assignor", 1);
        try (KafkaConsumer<byte[], byte[]> c = consumer(name("members"), Map.of("group.protocol", "consumer", "group.remote.assignor", "nonsense"))) {
            c.subscribe(List.of(topic));
            thrown(UnsupportedAssignorException.class, () -> c.poll(Duration.ofMillis(50)));
        }
    }

    /** Members of the classic protocol and of the new one in one group, from the first to the last and back. */
    private void migrate() throws Exception {
        Map<String, Object> classic = Map.of("partition.assignment.strategy", ASSIGNORS + "CooperativeStickyAssignor");
        Map<String, Object> next = Map.of("group.protocol", "consumer");
        Course c = new Course();
        try {
            c.more(50);
            Member one = c.join(classic);
            Member two = c.join(classic);
            c.settled("two classic members", 3, 3);
            same(GroupType.CLASSIC, described(c.group).type(), "kind of group");
            Member three = c.join(next);
            c.settled("a new one beside them", 2, 2, 2);
            same(GroupType.CONSUMER, described(c.group).type(), "kind of group");
            c.more(50);
            c.settled("all read", 2, 2, 2);
            one.leave();
            Member four = c.join(next);
            c.settled("one classic member is left", 2, 2, 2);
            two.leave();
            c.settled("no classic member is left", 3, 3);
            c.more(50);
            c.settled("the new ones read", 3, 3);
            Member five = c.join(classic);
            c.settled("a classic one again", 2, 2, 2);
            three.leave();
            four.leave();
            c.settled("only the classic one", 6);
            same(GroupType.CLASSIC, described(c.group).type(), "kind of group");
            c.more(50);
            c.settled("it reads", 6);
            five.leave();
            c.once();
        } finally {
            c.end();
        }
    }

    private void autoCommit(String protocol) throws Exception {
        String topic = topic("auto", 1);
        String group = name("members");
        Map<String, Object> how = Map.of("enable.auto.commit", true, "auto.commit.interval.ms", 50, "group.protocol", protocol);
        produce(topic, 100);
        TopicPartition zero = new TopicPartition(topic, 0);
        try (KafkaConsumer<byte[], byte[]> c = consumer(group, how)) {
            c.subscribe(List.of(topic));
            int[] read = {0};
            until("all is read and committed", () -> {
                read[0] += c.poll(Duration.ofMillis(50)).count();
                OffsetAndMetadata kept = c.committed(Set.of(zero)).get(zero);
                return read[0] == 100 && kept != null && kept.offset() == 100;
            });
        }
        produce(topic, 10);
        try (KafkaConsumer<byte[], byte[]> c = consumer(group, how)) {
            c.subscribe(List.of(topic));
            List<Long> offsets = new ArrayList<>();
            until("it goes on", () -> {
                c.poll(Duration.ofMillis(50)).forEach(r -> offsets.add(r.offset()));
                return offsets.size() >= 10;
            });
            same(100L, offsets.get(0), "the first record");
        }
        same(110L, admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(zero).offset(), "committed at the close");
    }

    private void offsets() throws Exception {
        String topic = topic("offsets", 3);
        String group = name("offsets");
        String other = name("offsets");
        TopicPartition zero = new TopicPartition(topic, 0);
        TopicPartition one = new TopicPartition(topic, 1);
        String note = "\u00e4 \u4e16\u754c \ud83d\ude00 ".repeat(50);
        Map<TopicPartition, OffsetAndMetadata> set = Map.of(zero, new OffsetAndMetadata(5, Optional.of(0), note), one, new OffsetAndMetadata(6));
        admin.alterConsumerGroupOffsets(group, set).all().get();
        same(set, admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(), "offsets");
        admin.alterConsumerGroupOffsets(other, Map.of(zero, new OffsetAndMetadata(9))).all().get();
        Map<String, ListConsumerGroupOffsetsSpec> both = Map.of(group, new ListConsumerGroupOffsetsSpec(), other, new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(zero, one)));
        var all = admin.listConsumerGroupOffsets(both).all().get();
        same(set, all.get(group), "offsets of the first");
        same(9L, all.get(other).get(zero).offset(), "offset of the second");
        same(null, all.get(other).get(one), "an offset that is not there");
        same(Map.of(), admin.listConsumerGroupOffsets(name("none")).partitionsToOffsetAndMetadata().get(), "offsets of no group");
        admin.deleteConsumerGroupOffsets(group, Set.of(one)).all().get();
        same(Set.of(zero), admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().keySet(), "offsets that are left");
        try (KafkaConsumer<byte[], byte[]> c = consumer(group, Map.of())) {
            c.subscribe(List.of(topic));
            until("it is assigned", () -> {
                c.poll(Duration.ofMillis(50));
                return c.assignment().size() == 3;
            });
            fails(UnknownMemberIdException.class, admin.alterConsumerGroupOffsets(group, set).all());
            fails(GroupSubscribedToTopicException.class, admin.deleteConsumerGroupOffsets(group, Set.of(zero)).partitionResult(zero));
            fails(GroupNotEmptyException.class, admin.deleteConsumerGroups(List.of(group)).all());
        }
        admin.deleteConsumerGroups(List.of(group, other)).all().get();
        fails(GroupIdNotFoundException.class, admin.deleteConsumerGroups(List.of(group)).all());
        fails(GroupIdNotFoundException.class, admin.deleteConsumerGroupOffsets(group, Set.of(zero)).all());
        same(Map.of(), admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(), "offsets after the deletion");
    }

    private void describe() throws Exception {
        String topic = topic("describe", 2);
        String classic = name("classic");
        String next = name("consumer");
        String simple = name("simple");
        admin.alterConsumerGroupOffsets(simple, Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1))).all().get();
        try (KafkaConsumer<byte[], byte[]> a = consumer(classic, Map.of("client.id", "a"));
             KafkaConsumer<byte[], byte[]> b = consumer(next, Map.of("client.id", "b", "group.protocol", "consumer"))) {
            for (KafkaConsumer<byte[], byte[]> c : List.of(a, b)) {
                c.subscribe(List.of(topic));
                until("it is assigned", () -> {
                    c.poll(Duration.ofMillis(50));
                    return c.assignment().size() == 2;
                });
            }
            for (String g : List.of(classic, next)) {
                until("the group is stable", () -> {
                    a.poll(Duration.ofMillis(20));
                    b.poll(Duration.ofMillis(20));
                    return described(g).groupState() == GroupState.STABLE;
                });
                ConsumerGroupDescription d = described(g);
                MemberDescription m = d.members().iterator().next();
                same(g.equals(next) ? GroupType.CONSUMER : GroupType.CLASSIC, d.type(), "kind");
                same(g.equals(next) ? "uniform" : "range", d.partitionAssignor(), "assignor");
                same(g.equals(next) ? "b" : "a", m.clientId(), "client id");
                same("/127.0.0.1", m.host(), "host");
                same(2, m.assignment().topicPartitions().size(), "partitions");
                same(g.equals(next), d.groupEpoch().isPresent(), "epochs are told");
                same(1, d.coordinator().id() >= 0 ? 1 : 0, "coordinator");
            }
            Set<String> ours = new TreeSet<>(List.of(classic, next, simple));
            same(ours, listed(ours, new ListGroupsOptions()), "listed");
            same(Set.of(next), listed(ours, new ListGroupsOptions().withTypes(Set.of(GroupType.CONSUMER))), "listed by kind");
            same(new TreeSet<>(List.of(classic, next)), listed(ours, new ListGroupsOptions().inGroupStates(Set.of(GroupState.STABLE))), "listed by state");
            same(Set.of(simple), listed(ours, new ListGroupsOptions().inGroupStates(Set.of(GroupState.EMPTY))), "listed by state");
            GroupListing l = admin.listGroups().all().get().stream().filter(x -> x.groupId().equals(simple)).findFirst().get();
            same(true, l.isSimpleConsumerGroup(), "a group of offsets alone");
            same("range", admin.describeClassicGroups(List.of(classic)).all().get().get(classic).protocolData(), "protocol by describeClassicGroups");
        }
        fails(GroupIdNotFoundException.class, admin.describeConsumerGroups(List.of(name("none"))).all());
    }

    private Set<String> listed(Set<String> ours, ListGroupsOptions options) throws Exception {
        return admin.listGroups(options).all().get().stream().map(GroupListing::groupId).filter(ours::contains).collect(Collectors.toCollection(TreeSet::new));
    }

    private void remove() throws Exception {
        String topic = topic("remove", 2);
        String group = name("members");
        try (KafkaConsumer<byte[], byte[]> c = consumer(group, Map.of())) {
            c.subscribe(List.of(topic));
            until("it is assigned", () -> {
                c.poll(Duration.ofMillis(50));
                return c.assignment().size() == 2;
            });
            admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions()).all().get();
            same(0, described(group).members().size(), "members");
            try {
                c.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1)));
                throw new AssertionError("a removed member commits");
            } catch (CommitFailedException e) {
                // it must join again
            }
        }
        fails(UnknownMemberIdException.class, admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("none"))))
            .memberResult(new MemberToRemove("none")));
    }

    private void settings() throws Exception {
        String group = name("settings");
        ConfigResource r = new ConfigResource(ConfigResource.Type.GROUP, group);
        same("45000", admin.describeConfigs(List.of(r)).all().get().get(r).get("consumer.session.timeout.ms").value(), "the default");
        admin.incrementalAlterConfigs(Map.of(r, List.<AlterConfigOp>of(new AlterConfigOp(new ConfigEntry("consumer.session.timeout.ms", "50000"), AlterConfigOp.OpType.SET)))).all().get();
        until("the setting", () -> admin.describeConfigs(List.of(r)).all().get().get(r).get("consumer.session.timeout.ms").value().equals("50000"));
        fails(org.apache.kafka.common.errors.InvalidConfigurationException.class, admin.incrementalAlterConfigs(Map.of(r, List.<AlterConfigOp>of(
            new AlterConfigOp(new ConfigEntry("consumer.session.timeout.ms", "1"), AlterConfigOp.OpType.SET)))).all());
    }

    /** A broker without transactions refuses them for good: a client that was told to wait would wait for ever. */
    private void transactions() throws Exception {
        try (KafkaProducer<byte[], byte[]> p = new KafkaProducer<>(Map.of("bootstrap.servers", broker, "transactional.id", name("txn"), "max.block.ms", 30_000),
            new ByteArraySerializer(), new ByteArraySerializer())) {
            p.initTransactions();
        } catch (org.apache.kafka.common.errors.TimeoutException e) {
            throw e;
        } catch (org.apache.kafka.common.KafkaException e) {
            System.out.println("refused: " + e);
        }
    }

    private void share() throws Exception {
        String topic = topic("share", 1);
        Map<String, Object> c = Map.of("bootstrap.servers", broker, "group.id", name("share"), "default.api.timeout.ms", 30_000);
        long begun = System.nanoTime();
        try (KafkaShareConsumer<byte[], byte[]> s = new KafkaShareConsumer<>(c, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            s.subscribe(List.of(topic));
            for (int i = 0; i < 20; i++) {
                s.poll(Duration.ofMillis(100));
            }
        } catch (org.apache.kafka.common.errors.TimeoutException e) {
            throw e;
        } catch (org.apache.kafka.common.KafkaException e) {
            System.out.println("refused: " + e);
        }
        if (System.nanoTime() - begun > Duration.ofSeconds(25).toNanos()) {
            throw new AssertionError("it took longer than 25 s");
        }
    }
}
