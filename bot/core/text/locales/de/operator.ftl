# Der Betreiber, wo OPERATOR_CONTACT nicht gesetzt ist: folgt auf „schreib an“.

operator = den Betreiber dieses Bots
