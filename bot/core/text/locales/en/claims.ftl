# Money that a payer says was sent, how payments were paid, and what was paid back. As in chat.ftl.

command-payments = Your latest payments, and what's waiting for you

## A claim: the payer says the money is sent, and the seller says whether it arrived

claims-waiting =
    { $kind ->
        [bank] 🏦
        [sandbox] 🧪
       *[other] ⚡
    } <b>{ $amount }</b> for <b>{ $name }</b>: has it arrived?
    The payer says they've sent it { $how }. { $kind ->
        [bank] Look for this payment in your bank account, then tap a button.
        [sandbox] There's no account to look in, so just tap the button you'd like to try.
       *[other] Look for this payment in your wallet, then tap a button.
    }
claims-until = The payer is waiting for your answer until { $moment }.
claims-reminder = ⏳ <b>The payer is still waiting for your answer.</b>
claims-lapsed =
    ⌛ <b>{ $amount }</b> for <b>{ $name }</b>: no answer in time
    The payer said they'd sent it { $how }, but the time to answer ended on { $moment }. If the money arrived, tap the button and I'll record it.
claims-confirming = ⏳ Confirming <b>{ $amount }</b> for <b>{ $name }</b>…
claims-rejecting = ⏳ Marking <b>{ $amount }</b> for <b>{ $name }</b> as not received…
claims-confirmed = ✅ You confirmed <b>{ $amount }</b> for <b>{ $name }</b>. The payment's alert is on its way.
claims-paid = ✅ <b>{ $amount }</b> for <b>{ $name }</b> has arrived.
claims-rejected =
    ✖ <b>{ $amount }</b> for <b>{ $name }</b>: not received
    The payer now sees that you haven't found their payment. If it still arrives, tap the button and I'll record it.
claims-closed = The payment service no longer has this payment of <b>{ $amount }</b> for <b>{ $name }</b>.
claims-ask-missing =
    <b>Has { $amount } for { $name } really not arrived?</b>
    The payer will see that you haven't found their payment{ $product ->
        [donation] { "" }
       *[other] { "" }, and the item will go back on sale
    }. { $kind ->
        [bank] A bank transfer can take a few days, so it may be worth waiting.
        [sandbox] It's test money, so you can safely try this.
       *[other] Check your wallet once more before you answer.
    }
button-received = ✅ Received
button-received-of = ✅ { $payment }
button-missing = Not received
button-missing-yes = Yes, it hasn't arrived
button-arrived = It arrived after all

## What became of an answer

claims-toast-confirming = Confirming…
claims-toast-rejecting = Saving your answer…
claims-toast-busy = I'm already on it.
claims-toast-confirmed = This payment has already been recorded as received.
claims-toast-paid-back = You've marked this payment as paid back. If that was a mistake, undo it in /payments, then accept it.
claims-gone = I can't find that payment any more. See /payments.
claims-service-down = The payment service isn't responding. I'll keep trying to pass on your answer about <b>{ $name }</b>. You don't need to do anything.
claims-given-up = The payment service hasn't responded for a day, so I couldn't pass on your answer about <b>{ $name }</b>. Please answer again. You'll find it in /payments.
claims-refused = The payment service didn't accept your answer about <b>{ $name }</b>. Nothing was changed. Please try again in a minute.
claims-settled-already = This payment for <b>{ $name }</b> has already been recorded as received, so it can't be rejected. If you need to return the money, pay it back yourself and mark it in /payments.
claims-lapsed-already = The time to answer had already ended, so there's nothing left to reject for <b>{ $name }</b>. If the money arrives after all, you can still confirm it.
claims-no-checkout = The payment service no longer has this payment for <b>{ $name }</b>, so it can't be confirmed or rejected.

## /payments

claims-waiting-list =
    { $count ->
        [one] <b>Waiting for your answer</b>
       *[other] <b>Waiting for your answer ({ $count })</b>
        Tap ✅ next to the reference of each payment that has arrived.
    }
claims-entry =
    <b>{ $amount }</b> for <b>{ $name }</b>
    Reported { $since }
    Answer by { $until }
claims-doubtful = ⚠️ One of { $count } unconfirmed payments from the same network
claims-digest =
    📬 { $count ->
        [one] <b>Another payment</b> for <b>{ $name }</b> is waiting for your answer
       *[other] <b>{ $count } more payments</b> for <b>{ $name }</b> are waiting for your answer
    }
    Tap ✅ for each payment that has arrived.
claims-digest-entry = <b>{ $amount }</b>, reported { $since }
claims-digest-all =
    { $more ->
        [0] See all that's waiting: /payments
       *[other] … and { $more } more. See them all: /payments
    }
claims-digest-done = ✅ Nothing for <b>{ $name }</b> is waiting here any more.
claims-latest =
    { $page ->
        [one] <b>Latest payments</b>
       *[other] <b>Earlier payments</b> (page { $page })
    }
claims-nothing = No payments yet. I'll let you know here as soon as someone pays.
button-payment = 🧾 Details

## How a payment was paid, and what it was worth

claims-by-bank = by bank transfer
claims-by-lightning = by Lightning
claims-by-sandbox = in test money
claims-by-other = by { $kind }
claims-how = Paid { $way }
claims-how-reference = Paid { $way }, reference <code>{ $reference }</code>
claims-worth = { $price } = { $paid } ({ $source })
claims-surplus = ⚠️ { $amount } more than the price arrived.
claims-shortfall = ⚠️ { $amount } less than the price arrived.

## Too little money

claims-underpaid =
    ⚠️ <b>Underpaid:</b> only { $amount } of { $asked } arrived for <b>{ $name }</b>
    That doesn't count as a sale. Please sort it out with the payer.
claims-underpaid-several =
    { $count ->
        [one] ⚠️ <b>Underpaid:</b> only { $amount } arrived for <b>{ $name }</b>. That doesn't count as a sale. Please sort it out with the payer.
       *[other] ⚠️ <b>Underpaid:</b> { $count } payments for <b>{ $name }</b> were too small, { $amount } in all. They don't count as sales. Please sort it out with the payers. In /payments, you can accept each as paid or mark it as paid back.
    }
claims-payment-underpaid = ⚠️ Underpaid: doesn't count as a sale
claims-underpaid-choice = Tap 🧾 { $number } to accept it as paid or to mark it as paid back.
claims-accept-hint-listed = If that's enough for you, accept it as paid in /payments.
claims-accept-hint = If that's enough for you, tap Accept as paid, and it counts as a sale.
button-accept = ✅ Accept as paid
claims-short =
    ⚠️ Underpaid: <b>{ $amount }</b> ({ $count ->
        [one] { $count } payment
       *[other] { $count } payments
    }, not counted above)

## Money that goes back

claims-refund-bank = To pay it back, make a transfer to the account it came from.
claims-refund-lightning = To pay it back, ask the payer for an invoice or a Lightning address, and pay it from your wallet.
claims-refund-other = To pay it back, send it to the payer yourself.
claims-refund-mark-listed = Then mark it as paid back in /payments.
claims-refund-mark = Then tap Details and mark it as paid back.
button-paid-back = ↩ Paid back
button-paid-back-undo = Not paid back after all
claims-paid-back = ↩ Paid back { $at }
claims-note = 📝 { $note }
claims-returned =
    ↩ Of this, paid back: <b>{ $amount }</b> ({ $count ->
        [one] { $count } payment
       *[other] { $count } payments
    })
claims-toast-unchanged = It's marked that way already.
ask-paidback =
    <b>Marked as paid back.</b> I don't move any money{ $there ->
        [elsewhere] { "" }: this is only for your records. I can't pass it on to the buyer through this payment service.
       *[here] { "" }. I'll let the buyer know once you've answered, within 10 minutes at the latest.
    }
    Would you like to add a note, like how you sent it back? Send it now, or skip it.
claims-note-saved = 📝 Note saved.
claims-note-skipped = OK, no note.
problem-paidback-empty = ⚠ That message is empty. Send the note as text, or tap Skip.
problem-paidback-long = ⚠ That's { $length } characters; the limit is { $most }. Please shorten it.
