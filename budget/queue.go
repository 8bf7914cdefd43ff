package budget

import "container/list"

// A queue holds parked operations: a line for each share that has any, and the
// turns of these shares. The zero value is empty.
type queue struct {
	turns list.List // of *line, the one whose turn it is in front
	lines map[*Share]*line
	len   int // operations in all lines
}

// A line holds the parked operations of one share, the oldest in front.
type line struct {
	operations list.List     // of *Operation
	turn       *list.Element // the line's own place in queue.turns
}

// push adds o at the end of the line of its share. A share that had none waits
// for all others to have had a turn.
func (q *queue) push(o *Operation) {
	if q.lines == nil {
		q.lines = map[*Share]*line{}
	}
	l := q.lines[o.share]
	if l == nil {
		l = &line{}
		l.turn = q.turns.PushBack(l)
		q.lines[o.share] = l
	}
	o.place = l.operations.PushBack(o)
	q.len++
}

// head returns the operation that is next, or nil.
func (q *queue) head() *Operation {
	turn := q.turns.Front()
	if turn == nil {
		return nil
	}
	return turn.Value.(*line).operations.Front().Value.(*Operation)
}

// pop removes the head and gives the turn to the next share.
func (q *queue) pop() *Operation {
	o := q.head()
	q.turns.MoveToBack(q.lines[o.share].turn)
	q.remove(o)
	return o
}

// remove takes o out of its line, wherever it stands. The turn stays where it is.
func (q *queue) remove(o *Operation) {
	l := q.lines[o.share]
	l.operations.Remove(o.place)
	if l.operations.Len() == 0 {
		q.turns.Remove(l.turn)
		delete(q.lines, o.share)
	}
	q.len--
}
