# The pay page: what payers choose and add, and the goal.

page-goal-label = Goal
page-goal-of = Goal: { $goal }
page-goal-reached = Goal reached! You can still add to it.

page-amount = How much would you like to pay?
page-amount-other = Other amount
page-amount-from = { $minimum } or more
page-amount-empty = Choose or enter an amount.
page-amount-unreadable = That doesn't look like an amount. Enter a number, such as { $price }.
page-amount-currency = Enter the amount in { $currency }.
page-amount-ambiguous =
    { $readings ->
        [one] Did you mean { $reading }? Choose it, or enter another amount.
       *[other] That can be read in more than one way. Choose the amount you mean, or enter another.
    }
page-amount-both = You chose one amount and entered another. Choose the one you'd like to pay.
page-amount-low = The minimum is { $minimum }. Enter that or more.
page-amount-high =
    { $maximum ->
        [none] That's more than can be paid here. Enter a smaller amount.
       *[other] The maximum is { $maximum }. Enter that or less.
    }
page-amount-tiny = That's too little to pay this way. Enter a larger amount.
page-amount-decimals =
    { $decimals ->
        [0] Enter a whole number, without decimals.
       *[other] Enter at most { $decimals } decimals, such as { $price }.
    }
page-amount-fixed = The price is { $price }. Please check it before you pay.

page-quantity = How many?
page-quantity-each = { $amount } each
page-quantity-chosen = The amount above is for each item.
page-quantity-wrong =
    { $most ->
        [one] You can only buy one at a time.
       *[other] You can buy 1 to { $most } at once.
    }
page-only-left = Only { NUMBER($left) } left. Check the quantity, then pay.
page-total = Total: { $amount }

page-words = Add your name or a message (optional)
page-name = Your name
page-message = Your message
page-up-to = Up to { $limit } characters
page-too-long = That's { $count } characters; the limit is { $limit }. Please shorten it.
page-words-who = The seller will see both. To stay anonymous, leave them empty.

page-exchanged-open = You'll pay in { $currency } ({ $rate }; { $source }, { DATETIME($at, dateStyle: "medium") }).
page-pay-open = Pay
page-pay-open-test = Pay in test money
page-message-sent = Sent to the seller
