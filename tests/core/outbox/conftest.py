"""Queues that several tests of the outbox share."""

from __future__ import annotations

import pytest

from bot.core.database.database import Database
from tests.support.outbox_queue import MESSAGES, QUEUE, QueueHarness, RecordingHandler
from tests.support.service_harness import Clock


@pytest.fixture
def post(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, QUEUE, clock)


@pytest.fixture
def hands(post: QueueHarness) -> RecordingHandler:
    return RecordingHandler(post)


@pytest.fixture
def chats(db: Database, clock: Clock) -> QueueHarness:
    return QueueHarness(db, MESSAGES, clock)
