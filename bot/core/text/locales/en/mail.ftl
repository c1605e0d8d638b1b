# Emails to sellers about payments, the one that asks for a confirmation, and payers' receipts.

mail-subject = { $amount } for { $name }
mail-subject-oversold = { $amount } for { $name }: please refund
mail-heading = { $amount } received
mail-oversold = This payment arrived when you didn't have enough left. Please refund the payer.
mail-oversold-few = This payment was for { NUMBER($quantity) } items, but only { $left ->
    [one] { $left } was
   *[other] { NUMBER($left) } were
} left. Please refund the payer.
mail-subject-underpaid = { $name }: only { $paid } of { $amount } received
mail-heading-underpaid = Only { $paid } of { $amount } received
mail-underpaid = That's less than the price, so it doesn't count as a sale. Please send it back, and ask the payer for the full amount.
mail-brief-underpaid = only { $paid } of { $amount }
mail-subject-claim = { $name }: has { $amount } arrived?
mail-heading-claim = Has { $amount } arrived?
mail-claim = Someone says they've sent this money. Please look for it in your account, then confirm or reject the payment where you made the payment link. It isn't a sale until you confirm it.
mail-brief-claim = { $amount }, not confirmed yet
mail-claimed = Reported
mail-answer-by = Please answer by

mail-product = For
mail-payer-name = From
mail-message = Message
mail-left = Left
mail-left-units =
    { $left ->
        [0] 0, sold out
       *[other] { NUMBER($left) }
    }
mail-left-reserved =
    { NUMBER($left) }, plus { $reserved ->
        [one] { $reserved } being paid for right now
       *[other] { NUMBER($reserved) } being paid for right now
    }
mail-codes-waiting =
    { $count ->
        [one] One item you've sold still needs a code. Please add one.
       *[other] { NUMBER($count) } items you've sold still need codes. Please add more.
    }
mail-why = You're getting this email because a payment link sends its payment notifications to this address.
mail-stop = Stop these emails

# Several payments in one letter.

mail-many =
    { $count ->
        [one] { $count } payment received
       *[other] { NUMBER($count) } payments received
    }
mail-many-claimed =
    { $count ->
        [one] { $count } payment to confirm
       *[other] { NUMBER($count) } payments to confirm
    }
mail-many-total = { $rest ->
    [0] Total: { $total }
   *[other] Total: { $total }. Here are the latest payments; there were { NUMBER($rest) } more.
}
mail-many-claims = { $count ->
    [one] One payer says they've sent the money. Please look for it in your account, then confirm or reject the payment where you made the payment link.
   *[other] { NUMBER($count) } payers say they've sent the money. Please look for it in your account, then confirm or reject each payment where you made the payment link.
}
mail-many-oversold = { $count ->
    [one] One payment arrived when you didn't have enough left. Please refund the payer.
   *[other] { NUMBER($count) } payments arrived when you didn't have enough left. Please refund the payers.
}
mail-many-underpaid = { $count ->
    [one] One payment was less than the price, so it doesn't count as a sale. Please send it back.
   *[other] { NUMBER($count) } payments were less than the price, so they don't count as sales. Please send them back.
}

# Sent to an address before anything else is. No word of it is the seller's.

mail-ask-subject = Confirm your email address at { $host }
mail-ask-heading = Is this your address?
mail-ask = Someone who sells at { $host } would like payment notifications sent to this address. If that's you, please confirm within { $days } days. If not, just ignore this email and you won't get any about payments.
mail-ask-confirm = Confirm this address
mail-ask-why = You're getting this email because someone entered this address.

# A payer's receipt. No message of the seller's is in it.

mail-payer-subject = Receipt for your payment of { $amount }
mail-payer-subject-test = Receipt for your test payment of { $amount }
mail-payer-subject-oversold = Your payment of { $amount }: you're owed a refund
mail-payer-heading = You paid { $amount }
mail-payer-oversold = Your payment arrived too late to count as a purchase, so the seller owes you a refund. Give them the transaction number below.
mail-payer-test = Test mode: no real money was charged.
mail-payer-host = Paid at
mail-payer-why = You're getting this email because your address was entered for a receipt at { $host }. If that wasn't you, just ignore it: this isn't a bill.
mail-payer-stop = Stop receipts to this address

# To a payer whose seller hasn't found the money. No word of it is the seller's.

mail-unfound-subject = Your payment of { $amount } hasn't been found
mail-unfound-heading = The seller hasn't found your payment of { $amount }
mail-unfound = If you've sent the money, give the seller the reference below and ask them to check again. If you haven't, you don't need to do anything.
mail-unfound-open = Open your payment

# To a payer, about what they bought: the numbers of their units, their codes, the seller's note.

mail-payer-units = Yours
mail-payer-numbers = { $numbers } of { NUMBER($total) }
mail-payer-code = Your code
mail-payer-code-of = Code for no. { NUMBER($unit) }
mail-payer-goods = What you bought
mail-payer-there = On your receipt
mail-payer-goods-wait = On its way. You'll get an email when it's here.
mail-payer-note = Note from the seller

# News of a payment, to its payer. No message of the seller's is in them.

mail-sent-subject = Your { $amount } order has been sent
mail-sent-heading = Your order has been sent
mail-paid-back-subject = Your payment of { $amount } is marked as paid back
mail-paid-back-heading = { $amount } marked as paid back
mail-paid-back-text = The seller has marked your payment as paid back. It may take a few days for the money to reach you.
mail-codes = { $count ->
    [one] Your code is here
   *[other] Your codes are here
}
mail-goods = What you bought is here
