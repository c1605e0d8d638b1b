# The page at the service's own address, and the one for addresses that don't exist.

page-home = Payment links
page-home-why = Sellers make payment links here by chatting with a Telegram bot. If someone sent you a link, open it exactly as you received it to see what you're paying for.
page-home-bot = Chat with @{ $bot }
page-home-contact = Need help, or want to report a link?
page-nowhere = Page not found
page-nowhere-why = There's nothing at this address. If someone sent you a payment link, check that you opened all of it.
