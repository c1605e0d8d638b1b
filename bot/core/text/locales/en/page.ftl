# The pay page, the receipt and the pages that say why not.

page-title = { $name } – { $amount }
page-title-state = { $title }: { $name }
page-title-wrong = Please check: { $name }
page-site = Payment request
page-locale = en_US
page-card = Price and QR code of { $name }
page-test = Test money: nobody really pays here.
page-former = before
page-now = now
page-more = More about it
page-left = { NUMBER($left) } of { NUMBER($total) } left
page-reserved =
    { $count ->
        [one] One more is being paid for right now.
       *[other] { NUMBER($count) } more are being paid for right now.
    }
page-opens = Opens
page-ends = Ends
page-at = { DATETIME($at, dateStyle: "long", timeStyle: "short") } UTC
page-phone = Scan to pay on your phone
page-phone-code = QR code of this page

page-ask = The seller asks for
page-paymail = Paymail
page-paymail-hint = Such as name@handcash.io
page-paymail-wrong = A paymail looks like name@handcash.io. Please check yours.
page-email = E-mail address
page-email-hint = Such as name@example.org
page-email-wrong = An e-mail address looks like name@example.org. Please check yours.
page-phoneNumber = Phone number
page-phoneNumber-hint = With the country code, such as +44 20 7946 0958
page-phoneNumber-wrong = A phone number has 7 to 15 digits, such as +44 20 7946 0958. Please check yours.
page-wrong =
    { $count ->
        [one] One thing needs another look.
       *[other] { $count } things need another look.
    }
page-stale = This form was not complete, so nothing was paid. Please try once more.
page-pay = Pay { $amount }
page-exchanged = You pay { $amount } ({ $rate }; { $source }, { DATETIME($at, dateStyle: "medium") }).
page-manner = How the test money arrives
page-manner-atOnce = At once
page-manner-later = A few seconds later
page-manner-twice = At once, and told twice
page-manner-late = Too late, after the reservation
page-manner-never = Never
page-pay-test = Pay { $amount } in test money

page-scheduled = Not yet
page-scheduled-why = This can be paid from the time below on. Please come back then.
page-expired = Too late
page-expired-why = The time to pay this ended on { DATETIME($at, dateStyle: "long", timeStyle: "short") } UTC. Nothing was taken from you: if you still want it, please ask the seller.
page-paused = Paused
page-paused-why = The seller has paused this link. You haven't been charged.
page-completed = Already paid
page-completed-why = This could be paid once, and somebody has. Nothing more can be taken. If it wasn't you who paid, please ask the seller.
page-soldOut = Sold out
page-soldOut-why = All of them are taken. Nothing was taken from you: if you hoped for one, please ask the seller.
page-reserved-title = The last ones are being paid for
page-reserved-why = Somebody is paying for what is left right now. If they don't finish, it can be had again: look once more in a few minutes.
page-unpriced = Not just now
page-unpriced-why = Nothing tells what the price is in the currency that is paid. Nothing was taken from you: please try again later.
page-missing = Nothing to pay here
page-missing-why = There is no payment request at this address. It may have been deleted, or the link is not complete. Please ask the seller for a new one.

page-receipt = Paid
page-receipt-title = Receipt: { $name }
page-receipt-thanks = Thank you. Your payment went through.
page-receipt-what = What
page-receipt-amount = Amount
page-receipt-when = When
page-receipt-at = { DATETIME($at, dateStyle: "long", timeStyle: "medium") } UTC
page-receipt-transaction = Transaction
page-receipt-keep = Keep this page or print it: it is your receipt.

page-receipt-paid = Paid with
page-receipt-exchanged = { $amount } ({ $rate }; { $source }, { DATETIME($at, dateStyle: "medium") })
page-receipt-oversold = Your payment arrived when nothing was left for it. The seller was told and owes it back to you.

page-checkout-open = Waiting for your payment
page-checkout-open-why = One is kept for you until { DATETIME($at, timeStyle: "medium") } UTC. This page goes on by itself as soon as your { $amount } are here.
page-checkout-open-free = This page goes on by itself as soon as your { $amount } are here. They are awaited until { DATETIME($at, timeStyle: "medium") } UTC.
page-checkout-lapsed = The time to pay is over
page-checkout-lapsed-why = Your payment did not arrive before { DATETIME($at, timeStyle: "medium") } UTC, so what was kept for you can be had by others. If you have paid, don't pay again: this page tells when it arrives.
page-checkout-lapsed-free = Your payment did not arrive before { DATETIME($at, timeStyle: "medium") } UTC. If you have paid, don't pay again: this page tells when it arrives.
page-checkout-cancelled = Cancelled
page-checkout-cancelled-why = You haven't been charged, and the one kept for you is free for others again. If you've already sent the money, don't pay again: this page shows it when it arrives.
page-checkout-cancelled-free = You haven't been charged. If you've already sent the money, don't pay again: this page shows it when it arrives.
page-checkout-oversold = Paid, but nothing was left
page-checkout-oversold-why = Your { $amount } arrived when nothing was left for it. The seller was told and owes it back to you: give them the transaction below.
page-checkout-oversold-free = Your { $amount } arrived after you had paid already. The seller was told and owes it back to you: give them the transaction below.
page-checkout-paid = In the currency paid
page-cancel = Cancel this payment
page-again = Back to the offer
page-retry = Try again

page-invalidBody = This form could not be read
page-bodyTooLarge = This form is too large
page-unsupportedMediaType = This form could not be read
page-rateLimited = A moment, please
page-methodNotAllowed = This page can't do that
page-internal = Something went wrong
page-unavailable = A moment, please
page-invalidBody-why = Nothing was paid. Please go back and try once more.
page-bodyTooLarge-why = Nothing was paid. Please go back and enter less.
page-unsupportedMediaType-why = Nothing was paid. Please go back and try once more.
page-unavailable-why = This page can't be used just now. Please try again in a few seconds: nothing is paid twice.
page-rateLimited-why =
    { $seconds ->
        [one] That was a lot at once. Please try again in a second.
       *[other] That was a lot at once. Please try again in { NUMBER($seconds) } seconds.
    }
page-tooManyHolds = Too many open payments
page-tooManyHolds-why =
    { $minutes ->
        [one] Too many payments are open from your network. You haven't been charged. Finish or cancel one of them, or try again in a minute.
       *[other] Too many payments are open from your network. You haven't been charged. Finish or cancel one of them, or try again in { NUMBER($minutes) } minutes.
    }
page-methodNotAllowed-why = Please open the link again.
page-internal-why = It is our fault, and we have noted it. Before you pay again, please ask the seller whether your payment arrived.
