# The pages to which the links of e-mails lead.

consent-confirm = Confirm your address?
consent-confirm-why = { $address } will get an e-mail about payments that a seller at { $host } receives. If you didn't enter this address, just close this page.
consent-done = Address confirmed
consent-done-why = E-mails about payments go to { $address } from now on. You can end them at any time by the link in each of them.
consent-lapsed = This link has expired
consent-lapsed-why = The address was not confirmed in time. If you want these e-mails, enter the address again in the bot.
consent-stop = Stop these e-mails?
consent-stop-why = { $address } gets e-mails about payments at { $host }.
consent-stopped = No more e-mails from this seller
consent-stopped-why = { $address } gets no more e-mails about this seller's payments.
consent-all-stopped = No more e-mails
consent-all-stopped-why = { $address } gets no more e-mails from { $host }, whoever sells there.
consent-unknown = This link doesn't work
consent-unknown-why = It may not be complete, or a newer e-mail has taken its place. Please open it from the newest e-mail again.
consent-button-confirm = Confirm
consent-button-seller = Stop e-mails from this seller
consent-button-everybody = Stop all e-mails from { $host }
