# Receipts that payers keep in Telegram. HTML as in chat.ftl.

command-bought = Deine Käufe und Belege

## A receipt in its payer's chat

receipt-kept = 🧾 <b>{ $name }</b>
receipt-kept-seller = von { $name }
receipt-kept-units = Für dich: Nr. { $numbers }
receipt-kept-units-of = Für dich: Nr. { $numbers } von { $total }
receipt-kept-oversold = ⚠ Deine Zahlung kam zu spät und zählt nicht als Kauf. Lass dir das Geld vom Verkäufer erstatten.
receipt-kept-waits =
    { $there ->
        [0] { $count ->
            [one] ⏳ <b>Dein Code kommt noch.</b>
           *[other] ⏳ <b>Deine Codes kommen noch.</b>
        }
       *[other] ⏳ <b>Der Rest kommt noch.</b>
    } Sobald alles da ist, schicke ich es dir hierher.
receipt-kept-codes =
    { $count ->
        [one] 🔑 Dein Code (zum Kopieren antippen):
       *[other] 🔑 Deine { $count } Codes (zum Kopieren antippen):
    }
receipt-kept-file = 📎 { $name } · { $size }
receipt-kept-rest = … Der Rest passt hier nicht mehr hin, er steht auf deinem Beleg.
receipt-kept-page = Dein Beleg: { $url }
receipt-kept-gone = Der Beleg für <b>{ $name }</b> lässt sich nicht mehr öffnen. Wenn du ihn noch brauchst, wende dich an den Verkäufer.

## Keeping one, and the list

receipt-unknown = Diesen Beleg finde ich nicht. Öffne deinen Beleg im Browser und tippe dort auf <b>In Telegram speichern</b>.
receipt-taken = Dieser Beleg ist schon in einem anderen Telegram-Konto gespeichert, deshalb kann ich ihn hier nicht zeigen. Im Browser kannst du ihn weiter öffnen.
receipt-later = Der Zahlungsdienst antwortet gerade nicht. Sobald er wieder da ist, schicke ich dir deinen Beleg. Du musst nichts weiter tun.
receipt-given-up = Der Zahlungsdienst hat einen Tag lang nicht geantwortet, deshalb konnte ich deinen Beleg nicht holen. Er ist nicht verloren: Öffne ihn im Browser und tippe noch einmal auf <b>In Telegram speichern</b>.
bought =
    <b>Deine Käufe</b>{ $pages ->
        [one] { "" }
       *[other] { " " }(Seite { $page } von { $pages })
    }
    Tippe auf einen Kauf: Dann siehst du den Beleg und was du bekommen hast.
bought-none =
    <b>Du hast noch keine Belege gespeichert.</b>
    Öffne nach dem Bezahlen deinen Beleg und tippe auf <b>In Telegram speichern</b>. Dann findest du ihn immer hier, mit allem, was du bekommen hast.
bought-line =
    { $standing ->
        [sent] 📦 { $name } · { $price } · verschickt
        [paidBack] ↩ { $name } · { $price } · zurückgezahlt
        [oversold] ⚠ { $name } · { $price } · Erstattung steht aus
        [waits] ⏳ { $name } · { $price } · kommt noch
       *[paid] ✅ { $name } · { $price }
    }
toast-receipt-gone = Dieser Beleg steht nicht mehr in deiner Liste. Wenn du ihn wieder speichern möchtest, öffne ihn im Browser.
toast-receipt-removed = Der Beleg ist aus deiner Liste entfernt. Ich schicke dir dazu nichts mehr. Wenn du ihn wieder speichern möchtest, öffne ihn im Browser.

## News about a kept receipt

receipt-news-sent = 📦 <b>{ $name }</b> wurde verschickt.
receipt-news-back = ↩ Der Verkäufer hat deine Zahlung von <b>{ $amount }</b> für <b>{ $name }</b> als zurückgezahlt vermerkt. Bis das Geld bei dir ankommt, kann es ein paar Tage dauern.
receipt-news-code =
    { $count ->
        [one] 🎉 <b>Dein Code ist da.</b>
       *[other] 🎉 <b>Deine Codes sind da.</b>
    }
receipt-news-goods = 🎉 <b>Dein Kauf ist da.</b>

## Buttons

button-copy-code = 📄 Code kopieren
button-receipt = 🧾 Beleg öffnen
button-bought = 🛍 Meine Käufe
button-receipt-show = 🧾 Beleg zeigen
