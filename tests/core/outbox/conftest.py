"""Queues that several tests of the outbox share."""

from __future__ import annotations

import pytest

from bot.core.database.database import Database
from tests.support.outbox_queue import MESSAGES, QueueHarness
from tests.support.service_harness import Clock
from tests.support.worker_harness import QUEUE, RecordingHandler


@pytest.fixture
def post(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, QUEUE, clock)


@pytest.fixture
def hands(post: QueueHarness) -> RecordingHandler:
    return RecordingHandler(post)


@pytest.fixture
def chats(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, MESSAGES, clock)
