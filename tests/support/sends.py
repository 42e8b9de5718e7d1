"""What MPI was given to send, as count_sends.cpp writes it, held against ferry's counters."""


def sends(text):
    """communicator -> destination -> [messages, bytes] of one task."""
    found = {}
    for line in text.splitlines():
        name, *numbers = line.split(",")
        peer, messages, size = map(int, numbers)
        found.setdefault(name, {})[peer] = [messages, size]
    return found


def check_sends(tasks, few, more, steps):
    """Checks that in each step MPI is given the messages and bytes that ferry counts, and nothing else.

    tasks: the counters of each task in --stats; few and more: the sends of each task in two runs, of which the second had so many
    steps more."""
    none = [0, 0]
    each = [{peer: [(b - a) / steps for a, b in zip(fewer.get("ferry data", {}).get(peer, none), sent)]
             for peer, sent in of_task.get("ferry data", {}).items()} for fewer, of_task in zip(few, more)]
    for task, counted in enumerate(tasks):
        sent = [sum(sent[k] for sent in each[task].values()) for k in (0, 1)]
        received = [sum(others.get(task, none)[k] for others in each) for k in (0, 1)]
        assert sent == [counted["sent_messages"], counted["sent_bytes"]], f"MPI sent {sent}; {counted}"
        assert sent == [counted["wire_messages"], counted["wire_bytes"]], f"MPI sent {sent}; {counted}"
        assert received == [counted["received_messages"], counted["received_bytes"]], f"MPI received {received}; {counted}"
        assert set(more[task]) <= {"ferry data", "ferry control"}, more[task]
        # Messages, not bytes: the one of --stats names the ops that took longest.
        told = [{peer: messages for peer, (messages, _) in run["ferry control"].items()} for run in (few[task], more[task])]
        assert told[0] == told[1], f"steps speak on the control communicator: {told}"
