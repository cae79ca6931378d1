package watch

import "context"

// CommandIn is for the fuzz test.
var CommandIn = commandIn

// Tell tells the next thing of the outbox.
func (w *Watcher) Tell(ctx context.Context) (bool, error) { return w.tell(ctx) }
