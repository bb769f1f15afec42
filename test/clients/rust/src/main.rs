// The rdkafka crate: administration, idempotent produce with the codecs it is built with, read by assignment.
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

type Outcome = Result<(), Box<dyn std::error::Error>>;
const COUNT: i64 = 1000;

struct Smoke {
    broker: String,
    admin: AdminClient<DefaultClientContext>,
    bad: bool,
}

fn name(what: &str) -> String {
    format!("rdkafka-{}-{}", what, SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos())
}

fn value(codec: &str, i: i64) -> String {
    format!("{codec} value {i} ").repeat(5)
}

impl Smoke {
    fn check(&mut self, what: &str, f: impl FnOnce(&Smoke) -> Outcome) {
        match f(self) {
            Ok(()) => println!("PASS {what}"),
            Err(e) => {
                self.bad = true;
                println!("FAIL {what}: {}", e.to_string().replace('\n', " "));
            }
        }
    }

    fn config(&self) -> ClientConfig {
        let mut c = ClientConfig::new();
        c.set("bootstrap.servers", &self.broker);
        c
    }

    fn consumer(&self) -> Result<BaseConsumer, KafkaError> {
        self.config().set("group.id", "unused").set("enable.auto.commit", "false").set("enable.partition.eof", "true").set("check.crcs", "true").create()
    }

    fn create(&self, topic: &str, partitions: i32) -> Outcome {
        let new = NewTopic::new(topic, partitions, TopicReplication::Fixed(1)).set("retention.ms", "3600000");
        for r in futures::executor::block_on(self.admin.create_topics(&[new], &AdminOptions::new()))? {
            r.map_err(|(t, e)| format!("{t}: {e}"))?;
        }
        self.partitions(topic, partitions)
    }

    /// Waits until a topic has partitions, all of them led: Kafka shows it later than it answers.
    fn partitions(&self, topic: &str, want: i32) -> Outcome {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let m = self.admin.inner().fetch_metadata(Some(topic), Duration::from_secs(10))?;
            let p = m.topics()[0].partitions();
            if p.len() as i32 == want && p.iter().all(|p| p.leader() >= 0) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("{topic} has {} partitions of {want}", p.len()).into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn administration(&self) -> Outcome {
        let topic = name("admin");
        self.create(&topic, 2)?;
        let resource = [ResourceSpecifier::Topic(&topic)];
        let described = futures::executor::block_on(self.admin.describe_configs(&resource, &AdminOptions::new()))?;
        let config = described.into_iter().next().ok_or("no answer")?.map_err(|e| e.to_string())?;
        let retention = config.get("retention.ms").and_then(|e| e.value.clone());
        if retention.as_deref() != Some("3600000") {
            return Err(format!("retention.ms is {retention:?}").into());
        }
        let more = [NewPartitions::new(&topic, 4)];
        for r in futures::executor::block_on(self.admin.create_partitions(&more, &AdminOptions::new()))? {
            r.map_err(|(t, e)| format!("{t}: {e}"))?;
        }
        self.partitions(&topic, 4)?;
        for r in futures::executor::block_on(self.admin.delete_topics(&[&topic], &AdminOptions::new()))? {
            r.map_err(|(t, e)| format!("{t}: {e}"))?;
        }
        Ok(())
    }

    fn produce_and_read(&self, codec: &str) -> Outcome {
        let topic = name(codec);
        self.create(&topic, 2)?;
        let producer: BaseProducer = self.config().set("enable.idempotence", "true").set("compression.type", codec).set("linger.ms", "20").create()?;
        for i in 0..COUNT {
            let (key, payload) = (format!("key-{i}"), value(codec, i));
            let number = i.to_string();
            producer
                .send(BaseRecord::to(&topic).partition((i % 2) as i32).key(&key).payload(&payload).headers(OwnedHeaders::new().insert(Header { key: "n", value: Some(&number) })))
                .map_err(|(e, _)| e)?;
        }
        producer.flush(Duration::from_secs(30))?;
        let consumer = self.consumer()?;
        let mut from = TopicPartitionList::new();
        from.add_partition_offset(&topic, 0, Offset::Beginning)?;
        from.add_partition_offset(&topic, 1, Offset::Beginning)?;
        consumer.assign(&from)?;
        let end = Instant::now() + Duration::from_secs(30);
        let mut next = [0i64; 2];
        while next[0] + next[1] < COUNT {
            if Instant::now() > end {
                return Err(format!("{} of {COUNT} records in 30 s", next[0] + next[1]).into());
            }
            match consumer.poll(Duration::from_millis(500)) {
                Some(Ok(m)) => {
                    let p = m.partition() as usize;
                    let i = m.offset() * 2 + p as i64;
                    let header = m.headers().map(|h| h.get(0).value.map(|v| v.to_vec()));
                    let key = format!("key-{i}");
                    if m.offset() != next[p] || m.key() != Some(key.as_bytes()) || m.payload() != Some(value(codec, i).as_bytes()) || header != Some(Some(i.to_string().into_bytes())) {
                        return Err(format!("partition {p}: another record at offset {}", m.offset()).into());
                    }
                    next[p] += 1;
                }
                Some(Err(KafkaError::PartitionEOF(_))) | None => {}
                Some(Err(e)) => return Err(e.into()),
            }
        }
        let (low, high) = consumer.fetch_watermarks(&topic, 0, Duration::from_secs(10))?;
        if (low, high) != (0, COUNT / 2) {
            return Err(format!("watermarks {low} and {high}").into());
        }
        Ok(())
    }
}

fn main() {
    let broker = std::env::args().nth(1).expect("usage: smoke HOST:PORT");
    let admin = ClientConfig::new().set("bootstrap.servers", &broker).create().expect("a client");
    let mut s = Smoke { broker, admin, bad: false };
    s.check("administration", Smoke::administration);
    for codec in ["none", "gzip", "snappy", "lz4"] {
        s.check(&format!("produce and read, {codec}"), |s| s.produce_and_read(codec));
    }
    std::process::exit(s.bad as i32);
}
