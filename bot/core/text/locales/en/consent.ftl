# The pages to which the links of emails lead.

consent-confirm = Confirm your address?
consent-confirm-why = { $address } will get emails about payments to a seller at { $host }. If you didn't enter this address, just close this page.
consent-done = Address confirmed
consent-done-why = We'll send emails about payments to { $address } from now on. You can stop them at any time with the link in each one.
consent-lapsed = This link has expired
consent-lapsed-why = The address wasn't confirmed in time. If you'd like these emails, enter the address in the bot again.
consent-stop = Stop these emails?
consent-stop-why = { $address } gets emails about payments at { $host }.
consent-stopped = No more emails from this seller
consent-stopped-why = { $address } won't get any more emails about payments to this seller.
consent-all-stopped = No more emails
consent-all-stopped-why = { $address } won't get any more emails from { $host }, whoever sells there.
consent-unknown = This link doesn't work
consent-unknown-why = It may be incomplete, or a newer email may have replaced it. Please use the link in your latest email.
consent-button-confirm = Confirm
consent-button-seller = Stop emails from this seller
consent-button-everybody = Stop all emails from { $host }

# The same for payers' receipts, whose address is not known here.

consent-receipts = Stop receipts?
consent-receipts-why = When someone pays at { $host } and enters your address, we send the receipt to it.
consent-receipts-stopped = No more receipts
consent-receipts-stopped-why = We won't send any more receipts from { $host } to your address. After paying, you'll still see your receipt on the page.
consent-receipts-all = No more emails
consent-receipts-all-why = We won't send any more emails from { $host } to your address, whoever sells there.
consent-button-receipts = Stop receipts
