# What the bot says around the forms: rights, the service's answers, mishaps.

only-in-private = Zahlungslinks erstelle ich nur im privaten Chat: Schreib an @{ $bot }.
not-allowed = Zahlungslinks kann hier nur erstellen, wen der Betreiber dieses Bots freigeschaltet hat. Bitte ihn, deine Telegram-ID einzutragen.
command-unknown = Diesen Befehl kenne ich nicht. /new erstellt einen Zahlungslink, /list zeigt deine, und alles Weitere steht in /help.
button-unknown = Diesen Knopf kenne ich nicht. /list zeigt deine Zahlungslinks.
listing-gone = Dieser Zahlungslink steht nicht mehr in deiner Liste.
listing-not-ready = Dieser Zahlungslink wird noch erstellt: einen Moment bitte.
update-failed = Entschuldige, hier ist etwas schiefgegangen, und das hat nicht geklappt. Bitte versuch es noch einmal, oder brich mit /cancel ab und fang neu an. Der Betreiber dieses Bots kann den Fehler sehen.
service-waiting = Der Zahlungsdienst antwortet nicht. Ich versuche es weiter und sage dir Bescheid, sobald <b>{ $name }</b> fertig ist. Du musst nichts tun.
service-busy = Der Zahlungsdienst ist ausgelastet und hat mich gebeten zu warten. Ich versuche es noch einmal und sage dir Bescheid, sobald <b>{ $name }</b> fertig ist. Du musst nichts tun.
service-odd = Der Zahlungsdienst gibt Antworten, die ich nicht lesen kann. Der Betreiber dieses Bots kann sehen, warum. Ich versuche es weiter und sage dir Bescheid, sobald <b>{ $name }</b> fertig ist. Du musst nichts tun.
service-unsure = Ich wurde unterbrochen und weiß noch nicht, ob <b>{ $name }</b> erstellt wurde. Ich sehe nach und sage dir in wenigen Minuten Bescheid. Bitte erstelle es nicht noch einmal.
service-locked = Der Zahlungsdienst lässt diesen Bot nicht herein, und nur der Betreiber dieses Bots kann das beheben. <b>{ $name }</b> wurde nicht erstellt: Bitte versuch es später noch einmal mit /new.
service-closed = Der Zahlungsdienst lässt diesen Bot nicht herein, und nur der Betreiber dieses Bots kann das beheben. Geändert wurde nichts.
service-not-done = Der Zahlungsdienst ist gerade nicht erreichbar oder ausgelastet, deshalb ist nichts passiert. Bitte versuch es in einer Minute noch einmal.
service-unchanged = Der Zahlungsdienst hat nicht rechtzeitig geantwortet. Ich habe nachgesehen: Die Karte zeigt, wie es um <b>{ $name }</b> jetzt steht. Wenn du etwas anderes wolltest, warte eine Minute, tippe auf „Mehr“ und „Aktualisieren“ und versuch es noch einmal.
service-no-news = Der Zahlungsdienst antwortet nicht, deshalb ist die Karte für <b>{ $name }</b> vielleicht nicht aktuell. Bitte warte eine Minute und tippe dann noch einmal auf „Aktualisieren“.
service-silent = Der Zahlungsdienst antwortet nicht, deshalb weiß ich nicht, ob das geklappt hat. Warte eine Minute und tippe dann auf „Mehr“ und „Aktualisieren“. Versuch es noch einmal, falls nötig.
service-other-price =
    <b>{ $name }</b> wurde nicht erstellt: Der Zahlungsdienst würde { $charged } statt { $price } verlangen. { $left ->
        [yes] Löschen konnte ich es dort nicht, aber niemand hat den Link.
       *[no] Dort habe ich es gelöscht; den Link hatte niemand.
    } Bitte setz den Preis in einer Währung fest, in der der Zahlungsdienst abrechnet, oder frag den Betreiber dieses Bots.
service-price-unchecked = Der Zahlungsdienst sagt mir nicht, was er verlangt. Deshalb konnte ich deinen Preis nicht prüfen. Bitte öffne die Zahlungsseite und sieh nach, bevor du den Link teilst. Das sage ich nur dieses eine Mal.
service-given-up = Der Zahlungsdienst hat fast einen ganzen Tag lang nicht geantwortet, deshalb versuche ich nicht länger, <b>{ $name }</b> zu erstellen. Bitte erstelle es mit /new noch einmal.
service-stale = Der Zahlungsdienst antwortet nicht. Das ist mein letzter Stand zu <b>{ $name }</b>.
service-refused = Der Zahlungsdienst hat das abgelehnt: { $words }
service-gone = <b>{ $name }</b> gibt es beim Zahlungsdienst nicht mehr, deshalb habe ich es aus deiner Liste genommen.
listing-deleted = <b>{ $name }</b> wurde gelöscht. Der Link funktioniert nicht mehr.
inline-new = Neuen Zahlungslink erstellen
inline-none = Nichts gefunden. Neuen Zahlungslink erstellen
