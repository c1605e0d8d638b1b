# The pages to which the links of e-mails lead.

consent-confirm = Confirm your address?
consent-confirm-why = { $address } will get e-mails about payments to a seller at { $host }. If you didn't enter this address, just close this page.
consent-done = Address confirmed
consent-done-why = We'll send e-mails about payments to { $address } from now on. You can stop them at any time with the link in each one.
consent-lapsed = This link has expired
consent-lapsed-why = The address wasn't confirmed in time. If you'd like these e-mails, enter the address in the bot again.
consent-stop = Stop these e-mails?
consent-stop-why = { $address } gets e-mails about payments at { $host }.
consent-stopped = No more e-mails from this seller
consent-stopped-why = { $address } won't get any more e-mails about payments to this seller.
consent-all-stopped = No more e-mails
consent-all-stopped-why = { $address } won't get any more e-mails from { $host }, whoever sells there.
consent-unknown = This link doesn't work
consent-unknown-why = It may be incomplete, or a newer e-mail may have replaced it. Please use the link in your latest e-mail.
consent-button-confirm = Confirm
consent-button-seller = Stop e-mails from this seller
consent-button-everybody = Stop all e-mails from { $host }
