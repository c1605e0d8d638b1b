"""What two payers give about themselves."""

from __future__ import annotations

ASKED = {"requestedUserData": ["paymail", "email", "phoneNumber"]}
ANNA = {
    "paymail": "Anna@hand.example",
    "email": "anna.b@mail.example",
    "phoneNumber": "+44 20 7946 0958",
}
BOB = {
    "paymail": "bob@hand.example",
    "email": "bob@mail.example",
    "phoneNumber": "+44 20 7946 0000",
}
