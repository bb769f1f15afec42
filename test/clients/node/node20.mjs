// What @platformatic/kafka expects of a newer Node than the machine may have. Imported before it.
Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new this((a, b) => { resolve = a; reject = b })
  return { promise, resolve, reject }
}
