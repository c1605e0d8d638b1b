# The e-mail that tells of a payment.

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
mail-why = This e-mail was sent because the payment request names this address to be told of payments.
