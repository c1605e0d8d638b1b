# The pay page, the receipt and the pages that say why not.

page-title = { $name } – { $amount }
page-title-state = { $title }: { $name }
page-title-wrong = Please check: { $name }
page-locale = en_US
page-card = Price and QR code for { $name }
page-test = Test mode: no real money is charged.
page-former = Original price:
page-more = More details
page-left = { NUMBER($left) } of { NUMBER($total) } left
page-reserved =
    { $count ->
        [one] 1 more is on hold while someone pays.
       *[other] { NUMBER($count) } more are on hold while people pay.
    }
page-opens = Opens
page-ends = Ends
page-clock = { DATETIME($at, timeStyle: "short") } UTC
page-in-minutes = in { $minutes } min { $seconds } s
page-in-seconds = in { $seconds } s
page-phone = Scan to pay on your phone
page-phone-code = QR code for this page

page-sold-by = Sold by { $seller }
page-contact = Contact
page-contact-seller = Contact the seller
page-report = Report
page-report-subject = Reported link: { $url }
page-privacy = Privacy

page-ask = Your details for the seller
page-paymail = Paymail
page-paymail-hint = For example, name@handcash.io
page-paymail-empty = Enter your paymail.
page-paymail-wrong = That doesn't look like a paymail. For example: name@handcash.io.
page-email = Email address
page-email-hint = For example, name@example.org
page-email-empty = Enter your email address.
page-email-wrong = That doesn't look like an email address. For example: name@example.org.
page-phoneNumber = Phone number
page-phoneNumber-hint = With the country code, like +44 20 7946 0958
page-phoneNumber-empty = Enter your phone number.
page-phoneNumber-wrong = That doesn't look like a phone number. It needs 7 to 15 digits, like +44 20 7946 0958.
page-wrong =
    { $count ->
        [one] Please fix 1 field.
       *[other] Please fix { $count } fields.
    }
page-stale = This form was incomplete, so you haven't been charged. Please try again.
page-pay = Pay { $amount }
page-exchanged = You'll pay { $amount } ({ $rate }; { $source }, { DATETIME($at, dateStyle: "medium") }).
page-manner = How the test money arrives
page-manner-atOnce = Right away
page-manner-later = After a few seconds
page-manner-twice = Right away, but reported twice
page-manner-late = Too late, after the reservation ends
page-manner-never = Never
page-manner-underpaid = Too little, only half of it
page-manner-claimed = When the seller confirms it
page-pay-test = Pay { $amount } in test money

page-the-seller = the seller
page-ways = How would you like to pay?
page-way-lightning = Lightning
page-way-other = Lightning ({ $wallet })
page-way-sepa = Bank transfer
page-way-pix = Pix
page-way-upi = UPI
page-way-swiss = Swiss QR-bill
page-way-lightning-how = Takes a few seconds, from any Lightning wallet.
page-way-tap-how = From any Lightning wallet; { $seller } confirms when it arrives.
page-way-sepa-how = From your banking app; { $seller } confirms when it arrives.
page-way-pix-how = From your bank's app; { $seller } confirms when it arrives.
page-way-upi-how = From any UPI app; { $seller } confirms when it arrives.
page-way-swiss-how = From your banking app; { $seller } confirms when it arrives.
page-way-about = ≈ { $amount }
page-way-unpriced =
    The price can't be converted right now. { $other ->
        [none] Please try again in a few minutes.
        [sepa] Try again in a few minutes, or pay by bank transfer instead.
       *[other] Try again in a few minutes, or pay with { $title } instead.
    }
page-way-gone = You can't pay that way any more. You haven't been charged. Please choose another way.
page-rate = { $rate } ({ $source }, { $at })
page-by-lightning = Pay with Lightning
page-by-sepa = Pay by bank transfer
page-by-pix = Pay with Pix
page-by-upi = Pay with UPI
page-by-swiss = Pay with QR-bill

page-pending = You've said you sent the money for { $name }. { $seller } hasn't confirmed it yet.
page-view-claim = View it
page-buy-another = Buy another
page-pay-again = Pay again
page-uncharged = You haven't been charged.
page-scheduled = Opens soon
page-scheduled-why = You can't pay yet. Please come back when this link opens.
page-expired = Expired
page-expired-why = This link expired on { $at }. If you're still interested, ask the seller.
page-paused = Paused
page-paused-why = The seller has paused this link. If you're still interested, ask them.
page-completed = Already paid
page-completed-why = This item has already been paid for. If you didn't pay for it and would like one, ask the seller.
page-soldOut = Sold out
page-soldOut-why =
    { $sold ->
        [0] There are none left.
        [one] The only one has been sold.
       *[other] All { NUMBER($sold) } sold.
    } If you were hoping for one, ask the seller.
page-reserved-title = On hold
page-reserved-why =
    { $count ->
        [one] Someone's payment for the last one is still under way. If it doesn't arrive, the item may become available again; check back later.
       *[other] Payments for the last { NUMBER($count) } are still under way. If one doesn't arrive, an item may become available again; check back later.
    }
page-unpriced = Price unavailable
page-unpriced-why = We can't convert the price right now. Please try again later.
page-noPayoutAccount = Not open for payments yet
page-noPayoutAccount-why = { $seller } can't take payments yet. You haven't been charged. Please try again later, or ask them when they'll be ready.
page-wayClosed = Not available right now
page-wayClosed-why = You can't pay that way any more. Please open the link again to see how you can pay { $seller }.
page-missing = Link not found
page-missing-why = There's no payment link at this address. It may have been deleted, or the address may be incomplete. Please ask the seller for a new link.

page-receipt = Paid
page-receipt-title = Receipt: { $name }
page-receipt-thanks = Thank you! Your payment went through.
page-receipt-seller = Seller
page-receipt-what = Item
page-receipt-save = Save as PDF
page-continue = Continue to { $host }
page-continue-in = Continue in { $app }
page-continue-app = Continue in the app “{ $app }”
page-receipt-keep = This is your receipt. To keep it, print this page or save it as a PDF.
page-receipt-oversold = Your payment arrived too late to count as a purchase. We've notified the seller, who needs to refund you.

page-receipt-by = Payment method
page-receipt-rate = Exchange rate
page-receipt-hash = Payment hash

page-held = Reservation ends
page-awaited = Time to pay ends
page-invoice-ends = Invoice expires
page-checkout-opening = Getting the invoice…
page-checkout-opening-why = This takes a few seconds. The invoice will appear here on its own.
page-checkout-open = Waiting for your payment
page-checkout-open-why = { $count ->
        [one] We're holding one
       *[other] We're holding { $count }
    } for you until { $at }. This page updates automatically when your { $amount } arrives.
page-checkout-open-free = This page updates automatically when your { $amount } arrives. You have until { $at }.
page-checkout-open-lightning = Scan the code with a Lightning wallet, or open it on this device. The invoice is valid until { $at }. This page updates automatically when you've paid.
page-checkout-open-tap = Scan the code with a Lightning wallet, or open it on this device. Then tap “I've paid” by { $at }.
page-checkout-open-bank = Scan the code with your banking app, or copy the details. Then come back and tap “I've sent the money” by { $at }.
page-checkout-claimed = Waiting for { $seller } to confirm
page-checkout-claimed-why = You said you've sent { $amount }. Once { $seller } finds it, your receipt will appear here.
page-checkout-claimed-tap = You said you've paid { $amount }. Once { $seller } finds it, your receipt will appear here.
page-claimed-help-tap = Taking longer than a day? Contact { $seller } and show the payment in your wallet.
page-checkout-claimed-bank = You said you've sent { $amount }. Once { $seller } finds it in their account, your receipt will appear here. Transfers can take until the next working day.
page-claimed-help-bank = Taking longer? Contact { $seller } and give the reference { $reference }.
page-checkout-lapsed = Time's up
page-checkout-ended = This invoice has expired
page-checkout-lapsed-lightning = Don't pay it; get a new one instead. If you've already paid it, don't pay again: your money may still arrive, and this page will update when it does.
page-checkout-lapsed-tap = Don't pay it; get a new one instead. If you've already paid it, tap “I've paid”, so that { $seller } can check.
page-checkout-lapsed-bank = Your time to pay ended at { $at }. If you've sent the money, tap “I've sent the money”: { $count ->
        [one] we'll hold one for you, if any are left,
       *[other] we'll hold { $count } for you, if enough are left,
    } until { $seller } confirms. If you haven't, start again.
page-checkout-lapsed-why = Your payment hadn't arrived by { $at }, { $count ->
        [one] so your item is
       *[other] so your items are
    } back on sale. If you've already paid, don't pay again: your money may still arrive, and this page will update when it does.
page-checkout-lapsed-free = Your payment hadn't arrived by { $at }. If you've already paid, don't pay again: your money may still arrive, and this page will update when it does.
page-checkout-cancelled = Cancelled
page-checkout-cancelled-why = You haven't been charged, { $count ->
        [one] and your item is
       *[other] and your items are
    } back on sale. If you've already sent the money, don't pay again: it may still arrive, and this page will update when it does.
page-checkout-cancelled-free = You haven't been charged. If you've already sent the money, don't pay again: it may still arrive, and this page will update when it does.
page-checkout-cancelled-lightning = Don't pay the invoice any more. If you've already paid it, don't pay again: your money may still arrive, and this page will update when it does.
page-checkout-cancelled-tap = Don't pay the invoice any more. If you've already paid it, contact { $seller } and show the payment in your wallet.
page-checkout-cancelled-bank = Don't send the money any more. If you've already sent it, contact { $seller } and give the reference { $reference }.
page-checkout-failed = We couldn't get an invoice
page-checkout-failed-slow = The seller's wallet didn't answer in time. You haven't been charged. Please try again in a minute.
page-checkout-failed-refused = The seller's wallet refused to create an invoice. You haven't been charged. Please try again in a few minutes, or contact the seller.
page-checkout-failed-lied = The seller's wallet sent an invoice that doesn't match this payment, so we're not showing it to you. You haven't been charged. Please let the seller know.
page-checkout-failed-tooSmall = { $amount } is less than the seller's wallet can receive. You haven't been charged. Please contact the seller.
page-checkout-failed-tooLarge = { $amount } is more than the seller's wallet can receive right now. You haven't been charged. Please contact the seller.
page-checkout-rejected = { $seller } hasn't found your payment
page-checkout-rejected-why = If you've sent { $amount }, contact the seller. Once they find it, your receipt will appear here. If you haven't, you can pay again.
page-checkout-rejected-tap = If you've paid { $amount }, contact the seller and show the payment in your wallet. Once they find it, your receipt will appear here. If you haven't, you can pay again.
page-checkout-rejected-bank = If you've sent { $amount }, contact the seller with the reference { $reference } and your bank's confirmation. Once they find it, your receipt will appear here. If you haven't, you can pay again.
page-checkout-unconfirmed = { $seller } hasn't confirmed your payment
page-checkout-unconfirmed-why = You said you've sent { $amount }, but { $seller } didn't confirm it in time, so we're no longer holding { $count ->
        [one] your item
       *[other] your items
    } for you. If you've sent it, don't pay again: contact { $seller }, who can still confirm your payment or refund you.
page-checkout-unconfirmed-tap = You said you've paid { $amount }, but { $seller } didn't confirm it in time, so we're no longer holding { $count ->
        [one] your item
       *[other] your items
    } for you. If you've paid, don't pay again: tap “I've paid” to ask once more, or contact { $seller }.
page-checkout-unconfirmed-bank = You said you've sent { $amount }, but { $seller } didn't confirm it in time, so we're no longer holding { $count ->
        [one] your item
       *[other] your items
    } for you. If you've sent it, don't pay again: tap “I've sent the money” to ask once more, or contact { $seller }.
page-checkout-underpaid = { $paid } of { $amount } arrived
page-checkout-underpaid-why = That's less than the price, so your purchase isn't complete. Don't send the rest. We've notified { $seller }, who can refund you or accept what you've paid. Give them the transaction number below.
page-checkout-oversold = Refund due
page-checkout-oversold-why = Your { $amount } arrived too late: what you ordered was no longer available. We've notified the seller, who needs to refund you. Give them the transaction number below.
page-checkout-oversold-free = Your { $amount } arrived after you'd already paid. We've notified the seller, who needs to refund you. Give them the transaction number below.
page-checkout-paid = You pay
page-cancel = Cancel payment
page-other-way = Pay another way
page-new-invoice = Get a new invoice
page-open-wallet = Open in wallet
page-open-upi = Open in UPI app
page-copy = Copy
page-copied = Copied
page-code-lightning = QR code with the Lightning invoice
page-code-sepa = QR code for the bank transfer (GiroCode)
page-code-pix = Pix QR code
page-code-upi = UPI QR code
page-code-swiss = Swiss QR code
page-field-invoice = Lightning invoice
page-field-holder = Recipient
page-field-iban = IBAN
page-field-bic = BIC
page-field-amount = Amount
page-field-key = Pix key
page-field-city = City
page-field-id = UPI ID
page-field-address = Address
page-field-code = Pix code (copy and paste)
page-reference-hint = Put this reference in your transfer, so that { $seller } can find your payment.
page-sent = I've sent the money
page-sent-tap = I've paid
page-sent-then = { $seller } will then check and confirm.
page-sent-held = { $seller } will then check and confirm. { $count ->
        [one] We'll hold one
       *[other] We'll hold { $count }
    } for you until then.
page-sent-unheld = { $seller } will then check and confirm. Other payments are waiting for that too, so your reservation ends at the time above. { $count ->
        [one] If none is left by then,
       *[other] If too few are left by then,
    } { $seller } will need to refund you.
page-claimed-unheld = Other payments are waiting to be confirmed too, so we can't hold { $count ->
        [one] one
       *[other] { $count }
    } for you until { $seller } has checked. { $count ->
        [one] If none is left by then,
       *[other] If too few are left by then,
    } you'll get your money back from { $seller }.
page-claimed-at = Reported by you
page-held-until = Held for you until
page-claimed-emailed = You can close this page. We'll email you once { $seller } has checked.
page-claimed-kept = You can close this page. To check on your payment later, keep this address.
page-field-link = Address of this page
page-payment-data = Payment details
page-claim-none = We can't hold { $count ->
        [one] one
       *[other] { $count }
    } for you any more
page-claim-none-why = { $count ->
        [one] The others have been sold or are being held for someone else.
       *[other] Too few are left: the others have been sold or are being held for someone else.
    } If you've sent the money, contact { $seller } and give the reference { $reference }: they can still confirm your payment, or refund you.
page-again = Back to payment
page-restart = Start again
page-retry = Try again

page-invalidBody = We couldn't read the form
page-bodyTooLarge = That's too much text
page-unsupportedMediaType = We couldn't read the form
page-rateLimited = Please wait a moment
page-methodNotAllowed = That doesn't work here
page-crossSite = This came from another website
page-internal = Something went wrong
page-unavailable = Temporarily unavailable
page-invalidBody-why = You haven't been charged. Please go back and try again.
page-bodyTooLarge-why = You haven't been charged. Please go back and type less.
page-unsupportedMediaType-why = You haven't been charged. Please go back and try again.
page-unavailable-why = This page isn't available right now. Please try again in a few seconds; you won't be charged twice.
page-rateLimited-why =
    { $seconds ->
        [one] There's been too much traffic from your network. Please try again in a second.
       *[other] There's been too much traffic from your network. Please try again in { NUMBER($seconds) } seconds.
    }
page-tooManyHolds = Too many unfinished payments
page-tooManyHolds-why =
    { $minutes ->
        [one] Your network has too many unfinished payments. You haven't been charged. Finish or cancel one of them, or try again in a minute.
       *[other] Your network has too many unfinished payments. You haven't been charged. Finish or cancel one of them, or try again in { NUMBER($minutes) } minutes.
    }
page-methodNotAllowed-why = Please open the link again.
page-crossSite-why = Another website sent this form for you, so we did nothing: you haven't been charged. Please open the link itself and try again there.
page-internal-why = It's our fault, and we've logged the error. Before you pay again, ask the seller whether your payment arrived.

# What the pages store about payers.

page-private = Privacy
page-private-lead = What we store about you when you open or pay a payment link at { $host }.
page-private-typed = What you type
page-private-typed-why = If the seller asks for a paymail, an email address or a phone number, we store it with your payment, and the seller gets it. The same goes for a name or a message, if you choose to add them. We may send your receipt to your email address. We ask for nothing else.
page-private-cookie = One cookie
page-private-cookie-why = It tells your payments from other people's, so that nobody can hold every item at once. It's a random number without your name, and your browser deletes it after { $minutes } minutes. There's no tracking and no advertising.
page-private-address = Your IP address
page-private-address-why = While you're paying, we store it as a hash, a code that nobody can turn back into the address, for the same reason. We delete it when we stop holding an item for you: when you've paid, when you cancel, or when your time to pay ends. If the seller has to confirm your payment, that's when they've decided.
page-private-pictures = Pictures from other websites
page-private-pictures-why = A seller's pictures may be on another website, which sees your IP address when your browser loads them. It doesn't learn which page you're on.
page-private-time = How long we keep it
page-private-time-why = What you typed stays with the payment until the operator of this website deletes it. Ask the operator if you want that. Amount, date and transaction number stay, as records of the sale.
page-private-who = Who sees it
page-private-who-why = The seller and the operator of this website. Anyone who has the address of your receipt can open it, so it shows only parts of what you typed, and never your message. It does show what you bought.
page-private-ask = Questions? Contact the operator of this website:
