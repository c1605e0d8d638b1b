# What the bot says around the forms: rights, the service's answers, mishaps.

only-in-private = Requests are made in a private chat: write to @{ $bot }.
not-allowed = Only people whom the operator of this bot has let in can make requests here. Ask the operator to add your Telegram id.
command-unknown = I don't know this command. /new makes a request, /list shows yours, /help says what else there is.
button-unknown = I can't read this button. /list shows your requests.
listing-gone = This request is not in your list any more.
listing-not-ready = This request is still being made: a moment, please.
update-failed = Sorry, something went wrong here and the operator can see it. What you asked last was not done: please try again, or /cancel and start anew.
service-waiting = The payment service is not answering. I go on trying and tell you as soon as <b>{ $name }</b> is ready; there is nothing for you to do.
service-silent = The payment service is not answering, so I can't say whether this was done. Look again with Refresh in a minute, then repeat it if need be.
service-given-up = The payment service did not answer for most of a day, so I stopped trying to make <b>{ $name }</b>. Please make it again with /new.
service-stale = The payment service is not answering: this is how <b>{ $name }</b> stood when I last heard.
service-refused = The payment service refused this: { $message }
service-gone = <b>{ $name }</b> is not at the payment service any more, so I took it off your list.
listing-deleted = <b>{ $name }</b> is deleted. Its link no longer works.
inline-new = Make a new request
