# Die Seite unter der Adresse des Dienstes selbst, und die für Adressen, die es nicht gibt.

page-home = Zahlungslinks
page-home-why = Hier entstehen Zahlungslinks: im Chat mit einem Telegram-Bot. Wenn Sie einen Link bekommen haben, öffnen Sie ihn genau so, wie er ist, und Sie sehen, was Sie bezahlen.
page-home-bot = Mit @{ $bot } chatten
page-home-contact = Brauchen Sie Hilfe oder möchten Sie einen Link melden?
page-nowhere = Seite nicht gefunden
page-nowhere-why = Unter dieser Adresse gibt es nichts. Wenn Sie einen Zahlungslink bekommen haben, prüfen Sie, ob die Adresse vollständig ist.
