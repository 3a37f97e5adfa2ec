package scorers

const paramMaxEndpoints = "maxNumOfEndpoints"

// PickerParams are the parameters of every picker type.
var PickerParams = []Param{
	{Name: paramMaxEndpoints, Default: 1.0, Integer: true, Doc: "endpoints in the ordered answer; below 1 means 1"},
}

// PickerLimit returns how many endpoints a picker that has PickerParams answers at most.
func (u *Setup) PickerLimit() int { return max(1, u.Params.Int(paramMaxEndpoints, 1)) }
