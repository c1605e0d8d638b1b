# What payers tell their sellers, and what sellers mark on payments. As in chat.ftl.

## A payer's name and message

alert-from = 💰 <b>{ $amount }</b> from <b>{ $payer }</b> for <b>{ $name }</b>
alert-words-from =
    💰 <b>{ $amount }</b> from <b>{ $payer }</b>: <i>{ $message }</i>
    For <b>{ $name }</b>
alert-words =
    💰 <b>{ $amount }</b> received: <i>{ $message }</i>
    For <b>{ $name }</b>
words-line = 💬 <b>{ $payer }</b>: <i>{ $message }</i>
words-name = 💬 <b>{ $payer }</b>
words-message = 💬 <i>{ $message }</i>
words-more =
    { $more ->
        [one] 💬 { $more } more message is in /payments.
       *[other] 💬 { $more } more messages are in /payments.
    }
words-hidden = 🙈 You've hidden what the payer wrote.
button-hide = 🙈 Hide message
button-hide-name = 🙈 Hide name
button-hide-of = 🙈 { $payer }
button-hide-undo = 👁 Show it again
toast-hidden = Hidden. To see it again, open the payment's details.
toast-hidden-elsewhere = Hidden everywhere else. I can't change this message any more: delete it if nobody should read it here.
toast-shown = It's back.
toast-hidden-already = It's hidden already.

## Codes that buyers wait for

alert-codes-waiting =
    { $waiting ->
        [one] ⏳ <b>1 buyer is waiting: send one code.</b>
       *[other] ⏳ <b>{ $waiting } codes are missing: send them now.</b>
    }

## Sent and paid back, and who hears of it

button-sent = 📦 Sent
button-sent-undo = Not sent after all
mark-sent = 📦 Sent { $at }
ask-sent =
    <b>Marked as sent.</b>
    { $there ->
        [elsewhere] This is only for your records: I can't pass it on to the buyer through this payment service.
       *[here] I'll let the buyer know once you've answered, within 10 minutes at the latest.
    }
    Would you like to add a tracking number or a note? Send it now, or skip it.
mark-stays-sent = OK, no note. The payment stays marked as sent. To undo that, open it in /payments and tap “Not sent after all”.
mark-stays-paid-back = OK, no note. The payment stays marked as paid back. To undo that, open it in /payments and tap “Not paid back after all”.
problem-sent-empty = ⚠ That message is empty. Send the tracking number or the note as text, or tap Skip.
problem-sent-long = ⚠ That's { $length } characters; the limit is { $most }. Please shorten it.
marks-sent-telegram = 📦 <b>{ $name }</b> is marked as sent. I've let the buyer know in Telegram.
marks-sent-email = 📦 <b>{ $name }</b> is marked as sent. The buyer will get an email.
marks-sent-none = 📦 <b>{ $name }</b> is marked as sent. The buyer left no email address, so they'll only see it on their receipt.
marks-sent-unsure = 📦 <b>{ $name }</b> is marked as sent. It's on the buyer's receipt. If they left an email address, they'll get an email too.
marks-paid-back-telegram = ↩ <b>{ $name }</b> is marked as paid back. I've let the buyer know in Telegram.
marks-paid-back-email = ↩ <b>{ $name }</b> is marked as paid back. The buyer will get an email.
marks-paid-back-none = ↩ <b>{ $name }</b> is marked as paid back. The buyer left no email address, so they'll only see it on their receipt.
marks-paid-back-unsure = ↩ <b>{ $name }</b> is marked as paid back. It's on the buyer's receipt. If they left an email address, they'll get an email too.
marks-local = I've saved that for your records. The payment service of <b>{ $name }</b> can't pass it on to the buyer.
marks-refused = The payment service didn't accept what you marked on the payment for <b>{ $name }</b>. It's saved in your records, but the buyer won't be notified. Please let them know yourself.
marks-given-up = The payment service hasn't responded for days, so I couldn't notify the buyer of <b>{ $name }</b>. What you marked is saved in your records. To try again, undo it and mark the payment again.
marks-service-down = The payment service isn't responding. What you marked on the payment for <b>{ $name }</b> is saved, and I'll keep trying to pass it on. You don't need to do anything.
