"""The kernel: what happens, in which order, and what is true afterwards.

The promise: at any kill, power cut, full disk or I/O error, the next start finds the state before
the task or the state after it, nothing is lost, and what was reported is true.

Every change to a tree of files is a *rename* between three places: the user's tree, a temporary
name beside the target, and holding (`held/` in the state folder). Creating is staging a temporary
and renaming it into place; deleting is renaming into holding; replacing is exchanging with an
object staged in holding. The inverse of each is again a rename, so all share one mechanism
(`effects`). Forward there is one path, for run, undo and redo (`transaction`), and back there is
one, for what failed and what a crash left (`rollback`).

Invariants, cited by number in code and tests:

- I1  What undo needs is durable before the target changes.
- I2  A kept object is durable before a record names it, and goes only after a durable `expired`
      record for every live step that needs it.
- I3  One writer: append, apply, undo, redo, recovery and gc hold the lock.
- I4  The journal only grows; a torn tail is set aside, never overwritten.
- I5  Every task that began gets exactly one end: `ok`, `rolled-back` or `incomplete`. `unknown` is
      only reported, when the end's own sync failed. Recovery always ends.
- I6  Undo of an exact step brings back paths, bytes, types, modes, owners, mtime_ns, user and
      system xattrs, ACLs, link targets, hard-link groups, holes and folder times.
- I7  Work done outside deskshell is never overwritten unasked: identity is compared at the moment
      of acting.
- I8  A plan is applied at most once, and only to the state it was made from.
- I9  `undo` may run twice, and on a half-done step.
- I10 Nothing acts outside a granted scope, as resolved at the moment of acting.

States of a task:

    OPEN → PREPARED(batch) → DONE(batch) → … → OK
    from anywhere → ROLLING_BACK → ROLLED_BACK, or → INCOMPLETE

Where each is entered: `transaction.Transaction.run` (OPEN, PREPARED, DONE, OK),
`transaction.Transaction._roll_back` (the rest), `recovery.recover` (closes what a crash left).
"""
