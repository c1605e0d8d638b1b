# The e-mails that tell of payments, and the one that asks for a confirmation.

mail-subject = { $amount } for { $name }
mail-subject-oversold = { $amount } for { $name }: to be paid back
mail-heading = { $amount } received
mail-oversold = This payment came when no unit was left. The money is owed back to the payer: please pay it back.

mail-product = For
mail-paid-in = Paid as
mail-left = Left
mail-left-units =
    { $left ->
        [0] None: sold out
       *[other] { NUMBER($left) }
    }
mail-left-reserved =
    { $left ->
        [0] None
       *[other] { NUMBER($left) }
    }; { $reserved ->
        [one] { $reserved } is being paid right now
       *[other] { NUMBER($reserved) } are being paid right now
    }
mail-when = When
mail-at = { DATETIME($at, dateStyle: "long", timeStyle: "medium") } UTC
mail-paymail = Paymail
mail-email = E-mail address
mail-phone = Phone number
mail-transaction = Transaction
mail-request = Payment request
mail-receipt = Open the receipt
mail-why = This e-mail was sent because the payment request names this address to be notified of payments.
mail-stop = Stop these e-mails

# Several payments in one letter.

mail-many-subject = { $count } payments received
mail-many-heading = { $count } payments received
mail-many = { $rest ->
    [0] Together: { $total }.
   *[other] Together: { $total }. The newest payments are listed below; there are { $rest } more.
}
mail-many-oversold = { $count ->
    [one] One payment came when no unit was left. The money is owed back to the payer: please pay it back.
   *[other] { $count } payments came when no unit was left. The money is owed back to the payers: please pay it back.
}

# Sent to an address before anything else is. No word of it is the seller's.

mail-ask-subject = Confirm your e-mail address at { $host }
mail-ask-heading = Is this your address?
mail-ask = Someone who sells at { $host } wants to be notified of payments at this address. If that's you, confirm it within { $days } days. If not, just ignore this e-mail: you won't get any about payments.
mail-ask-confirm = Confirm this address
mail-ask-why = This e-mail was sent because somebody entered this address.
