// Package api is what machines, programs and the hub say to each other: paths, messages, limits,
// and the client. krunctl links it, and nothing else of the hub. It contains no SQL and starts
// nothing.
//
// Messages are JSON. A request has the header "Authorization: Bearer TOKEN". An error is {"error":
// "what, where, what to do next"} with a status of 400 or above. Fields that a reader does not know
// are skipped.
//
// # Shipping
//
// The body of POST /api/v1/ship is one line of JSON, a [Ship], and then the contents of its
// Entries, one after the other, each as long as its Size. The answer, a [Receipt], is sent after
// everything is durable: contents first, then the rows that refer to them, in one transaction.
// Sending the same again changes nothing. A machine has the experiments that it shipped or was
// given, and no others.
//
// Start reading at [Ship] and [Client].
package api
