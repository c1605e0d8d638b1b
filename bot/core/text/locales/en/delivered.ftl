# The receipt: what was bought, and what the seller noted.

page-receipt-through = Your payment went through.
page-for-you = For you
page-codes =
    { $count ->
        [one] Your code
       *[other] Your codes
    }
page-units = Yours: { $units } of { NUMBER($total) }
page-on-its-way =
    { $count ->
        [one] Yours is on its way
       *[other] Yours are on their way
    }
page-more-on-its-way =
    { $count ->
        [one] One more is on its way
       *[other] { $count } more are on their way
    }
page-on-its-way-why =
    { $count ->
        [one] { $seller } still has to add your code. It'll appear here, so bookmark this page.
       *[other] { $seller } still has to add your codes. They'll appear here, so bookmark this page.
    }
page-download = Download
page-marked-sent = Sent
page-paid-back = Paid back
page-paid-back-why = { $seller } marked your payment as paid back on { $at }. It may take a few days for the money to reach you.
page-receipt-bookmark = This page is your receipt. You'll need its address to get back to what you bought, so bookmark it. Anyone who has the address can see it too, so don't share it.
