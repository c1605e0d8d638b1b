# What only the bot's own payment service has: amounts that payers choose, goals, several items
# per purchase, thank-you messages. HTML and values as in chat.ftl.

## The amounts that payers choose from

choice-suggested = { $bounds } · suggested { $amounts }
button-choose = 💝 Payers choose
button-choose-amounts = 💝 Payers choose: { $amounts }
ask-amount-choice = Or let payers choose: tap the button below, or type your own suggestions, like <code>{ $several }</code>.
help-choice = Payers can choose the amount: <code>/donation 5/10/20 EUR Coffee</code> suggests three, <code>/donation 3+ EUR Coffee</code> sets only a minimum.
offer-line-choice = 👍 <b>{ $name }</b>. { $amount }. Let's turn it into a payment link.

receivers-scaled = <i>Payers choose the amount, and each share grows or shrinks with it.</i>

problem-choice-elsewhere = ⚠ Payers can't choose the amount here: the payment service behind this bot doesn't offer that. Type a single price, like <code>{ $example }</code>.
problem-choice-bare = ⚠ Is that one price, or several to choose from? For one price, type a single number, like <code>{ $example }</code>. To let payers choose, put slashes between the amounts, like <code>{ $several }</code>.
problem-choice-many = ⚠ That's { $count } suggestions; the limit is { $most }. Leave some out, like <code>{ $several }</code>.
problem-choice-twice = ⚠ You suggested { $typed } twice. List each amount once.
problem-choice-low = ⚠ { $typed } is less than your minimum of { $minimum }. Type a larger suggestion, or a smaller minimum.
problem-choice-high = ⚠ { $typed } is more than your maximum of { $maximum }. Type a smaller suggestion, or a larger maximum.
problem-choice-range = ⚠ The second amount must be larger than the first: { $maximum } isn't more than { $minimum }. Type the smaller one first, like <code>3-500</code>.
problem-choice-mixed = ⚠ I found more than one currency. Use the same one for all amounts, like <code>{ $several }</code>.
problem-choice-unclear = ⚠ “{ $typed }” can be read in more than one way. Type it without thousands separators, like <code>1000</code> or <code>1.50</code>.
line-choice-order = ⚠ Suggestions go before the currency, like <code>3+ 5/10/20 EUR</code>.
line-amount-or-choice = ⚠ Is that one price, or several to choose from? Type <code>{ $example }</code> for one price, or <code>{ $several }</code> to let payers choose.

## The options

option-goal = Goal
option-perbuyer = Items per purchase
option-thanks = Thank-you message
ask-goal =
    <b>How much do you want to raise?</b>
    Everyone will see how close you are, and people can keep giving once you've reached it. Type <code>{ $example }</code> for { $meant }.
ask-perbuyer =
    <b>How many items can a buyer take at once?</b>
    Normally it's one. Type a whole number up to 100, like <code>5</code>.
ask-thanks =
    <b>What would you like to say to everyone who pays?</b>
    They'll read it on their receipt. Up to 500 characters, like <i>Thank you! See you on Friday.</i>
review-goal = Goal: <b>{ $value }</b>
review-perbuyer = Per purchase: up to <b>{ $value }</b> items
review-thanks = Thank-you message: { $value }
perbuyer-one = Each purchase is for one item.
goal-removed = Your goal was in { $currency } and the price isn't any more, so I've removed the goal. You can set it again under “More options”.

button-edit-goal = Goal
button-edit-perbuyer = Items per purchase
button-edit-thanks = Thank-you message
saved-goal = Goal updated: { $value }
saved-perbuyer = Buyers can now take up to { $value } items at once.
saved-thanks = Thank-you message updated: { $value }
cleared-goal = Goal removed.
cleared-perbuyer = Each purchase is now for one item.
cleared-thanks = Thank-you message removed.

problem-goal-currency = ⚠ The price is in { $currency }, so the goal must be too. Type just the number.
problem-perbuyer = ⚠ I need a whole number, like <code>5</code>.
problem-perbuyer-many = ⚠ That's too many: the limit is { $most } items. Type a smaller number.
problem-thanks-empty = ⚠ I couldn't find any text in that. Type a few words for the people who pay.
problem-thanks-long = ⚠ That's { $length } characters; the limit is { $most }. Please shorten it.
