# The pages to which the links of e-mails lead.

consent-confirm = Adresse bestätigen?
consent-confirm-why = { $address } bekommt dann E-Mails über Zahlungen, die jemand über { $host } erhält. Wenn Sie diese Adresse nicht eingegeben haben, schließen Sie diese Seite einfach.
consent-done = Adresse bestätigt
consent-done-why = E-Mails über Zahlungen gehen ab jetzt an { $address }. Über den Link in jeder E-Mail können Sie sie jederzeit abbestellen.
consent-lapsed = Dieser Link ist abgelaufen
consent-lapsed-why = Die Adresse wurde nicht rechtzeitig bestätigt. Wenn Sie diese E-Mails möchten, geben Sie die Adresse im Bot noch einmal ein.
consent-stop = Diese E-Mails abbestellen?
consent-stop-why = { $address } bekommt E-Mails über Zahlungen bei { $host }.
consent-stopped = Keine E-Mails mehr zu diesem Verkäufer
consent-stopped-why = { $address } bekommt keine E-Mails mehr über Zahlungen an diesen Verkäufer.
consent-all-stopped = Keine E-Mails mehr
consent-all-stopped-why = { $address } bekommt keine E-Mails mehr von { $host }, ganz gleich, wer dort verkauft.
consent-unknown = Dieser Link funktioniert nicht
consent-unknown-why = Vielleicht ist er unvollständig, oder es gibt schon eine neuere E-Mail. Öffnen Sie ihn bitte noch einmal aus der neuesten E-Mail.
consent-button-confirm = Bestätigen
consent-button-seller = E-Mails zu diesem Verkäufer abbestellen
consent-button-everybody = Alle E-Mails von { $host } abbestellen

# The same for payers' receipts, whose address is not known here.

consent-receipts = Keine Belege mehr?
consent-receipts-why = Wenn jemand bei { $host } bezahlt und Ihre Adresse eingibt, geht der Beleg dorthin.
consent-receipts-stopped = Keine Belege mehr
consent-receipts-stopped-why = Wir schicken keine Belege mehr von { $host } an Ihre Adresse. Nach dem Bezahlen sehen Sie Ihren Beleg weiterhin auf der Seite.
consent-receipts-all = Keine E-Mails mehr
consent-receipts-all-why = Wir schicken keine E-Mails mehr von { $host } an Ihre Adresse, ganz gleich, wer dort verkauft.
consent-button-receipts = Belege abbestellen
