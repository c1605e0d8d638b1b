# What the bot says around the forms: rights, the service's answers, mishaps.

only-in-private = I only make payment links in private chats. Message @{ $bot } to make one.
not-allowed = Only people approved by this bot's operator can make payment links here. Ask the operator to add your Telegram ID.
command-unknown = I don't know that command. Use /new to make a payment link, /list to see yours, or /help for everything else.
button-unknown = I don't recognise that button. Use /list to see your payment links.
listing-gone = This payment link is no longer in your list.
listing-not-ready = This payment link is still being created. One moment, please.
update-failed = Sorry, something went wrong and I couldn't do that. Please try again, or use /cancel and start over. This bot's operator can see the error.
service-waiting = The payment service isn't responding. I'll keep trying and let you know as soon as <b>{ $name }</b> is ready. You don't need to do anything.
service-busy = The payment service is busy and asked me to wait. I'll try again and let you know as soon as <b>{ $name }</b> is ready. You don't need to do anything.
service-odd = The payment service is sending answers I can't read. This bot's operator can see why. I'll keep trying and let you know as soon as <b>{ $name }</b> is ready. You don't need to do anything.
service-unsure = I was interrupted and don't know yet whether <b>{ $name }</b> was created. I'm checking and I'll let you know within minutes. Please don't create it again.
service-locked = The payment service isn't letting this bot in, and only this bot's operator can fix that. <b>{ $name }</b> wasn't created. Please try again later with /new.
service-closed = The payment service isn't letting this bot in, and only this bot's operator can fix that. Nothing was changed.
service-not-done = The payment service is unavailable or too busy right now, so nothing was done. Please try again in a minute.
service-unchanged = The payment service didn't respond in time. I checked again, and the card shows how <b>{ $name }</b> stands now. If that's not what you wanted, wait a minute, tap More and Refresh, and try again.
service-no-news = The payment service isn't responding, so the card for <b>{ $name }</b> may be out of date. Please wait a minute, then tap Refresh again.
service-silent = The payment service isn't responding, so I can't tell whether that worked. Wait a minute, then tap More and Refresh. Try again if you need to.
service-other-price =
    <b>{ $name }</b> wasn't created: the payment service would charge { $charged } instead of { $price }. { $left ->
        [yes] I couldn't delete it there, but nobody has its link.
       *[no] I deleted it there; nobody had its link.
    } Please set the price in a currency that the payment service charges in, or ask this bot's operator to look into it.
service-price-unchecked = The payment service doesn't report what it charges, so I couldn't check your price. Please open the payment page and check it before you share the link. I won't mention this again.
service-given-up = The payment service didn't respond for most of a day, so I've stopped trying to create <b>{ $name }</b>. Please create it again with /new.
service-stale = The payment service isn't responding. This is the last I heard about <b>{ $name }</b>.
service-refused = The payment service didn't accept this: { $words }
service-gone = <b>{ $name }</b> no longer exists at the payment service, so I've removed it from your list.
listing-deleted = <b>{ $name }</b> has been deleted. Its link no longer works.
inline-new = Make a new payment link
inline-none = Nothing found. Make a new payment link
