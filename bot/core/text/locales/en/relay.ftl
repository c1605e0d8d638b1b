# What the bot says around the forms: rights, the service's answers, mishaps.

only-in-private = Requests are made in a private chat: write to @{ $bot }.
not-allowed = Only people whom the operator of this bot has let in can make requests here. Ask the operator to add your Telegram id.
command-unknown = I don't know this command. /new makes a request, /list shows yours, /help says what else there is.
button-unknown = I can't read this button. /list shows your requests.
listing-gone = This request is not in your list any more.
listing-not-ready = This request is still being made: a moment, please.
update-failed = Sorry, something went wrong here and the operator can see it. What you asked last was not done: please try again, or /cancel and start anew.
service-waiting = The payment service is not answering. I go on trying and tell you as soon as <b>{ $name }</b> is ready; there is nothing for you to do.
service-busy = The payment service has too much to do and asked me to wait. I try again by myself and tell you as soon as <b>{ $name }</b> is ready; there is nothing for you to do.
service-odd = The payment service gives answers that I can't read; the operator of this bot can see why. I go on trying and tell you as soon as <b>{ $name }</b> is ready; there is nothing for you to do.
service-unsure = I was interrupted and don't know yet whether <b>{ $name }</b> was made. I look for it and tell you within minutes; please don't make it again.
service-locked = The payment service does not let this bot in, and only the operator of this bot can mend that. <b>{ $name }</b> was not made: please make it again later with /new.
service-closed = The payment service does not let this bot in, and only the operator of this bot can mend that. Nothing was changed.
service-not-done = The payment service can't be reached or has too much to do just now, so this was not done. Please try again in a minute.
service-unchanged = The payment service did not answer in time. When I asked again, <b>{ $name }</b> stood as its card shows now. If that is not what you wanted, press Refresh in a minute and try again.
service-no-news = The payment service is not answering, so the card of <b>{ $name }</b> shows what I heard last. Please try Refresh again in a minute.
service-silent = The payment service is not answering, so I can't say whether this was done. Look again with Refresh in a minute, then repeat it if need be.
service-other-price =
    <b>{ $name }</b> wasn't made: the payment service would charge { $told } instead of { $price }. { $left ->
        [yes] I couldn't delete it there, but nobody has its link.
       *[no] I deleted it there; nobody had its link.
    } Please set the price in a currency that the service charges, or ask the operator of this bot to look into it.
service-price-untold = The payment service doesn't tell me what it charges, so I couldn't check your price. Please open the payment page and check it before you share the link. I won't mention this again.
service-given-up = The payment service did not answer for most of a day, so I stopped trying to make <b>{ $name }</b>. Please make it again with /new.
service-stale = The payment service is not answering: this is how <b>{ $name }</b> stood when I last heard.
service-refused = The payment service refused this: { $words }
service-gone = <b>{ $name }</b> is not at the payment service any more, so I took it off your list.
listing-deleted = <b>{ $name }</b> is deleted. Its link no longer works.
inline-new = Make a new request
inline-none = Nothing found. Make a new request
