# Fetches the jars of java/pom.xml once; sourced by the parts java and tools.
jars=$cache/java/lib
java_install() {
  command -v javac >/dev/null && command -v mvn >/dev/null || { retry 3 apt-get update -qq && retry 3 apt-get install -y -qq openjdk-17-jdk-headless maven; } || return 1
  cmp -s "$clients/java/pom.xml" "$cache/java/pom.xml" && return
  mkdir -p "$cache/java/get" && rm -rf "$jars" && cp "$clients/java/pom.xml" "$cache/java/get/" &&
    (cd "$cache/java/get" && retry 3 mvn -q -B dependency:copy-dependencies -DoutputDirectory="$jars" -DincludeScope=runtime) &&
    cp "$clients/java/pom.xml" "$cache/java/pom.xml"
}
